"""Write selected_op_variants.h, which tells the dtypes that operators are used with.

Takes the flags of `python -m executorch.codegen.tools.gen_selected_op_variants`, and writes the same bytes."""

from __future__ import annotations

import os

from opwright.cli.plain_words import text
from opwright.cli.streams import leave
from opwright.selective.edge_texts import variants_header
from opwright.torchgen.quick_program import QuickProgram, Result

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from opwright.cli.plain_words import Values
    from opwright.selective.files import Files

_OPTIONS = (
    text("yaml-file-path", metavar="FILE", help="the selection, such as selected_operators.yaml", is_required=True),
    text("output-dir", metavar="DIR", help="the folder to write the header into", is_required=True),
)


def _work(values: Values, files: Files) -> Result:
    from opwright.torchgen.executorch.document_shapes import SELECTED

    path = str(values["yaml_file_path"])
    selection = files.value(path, SELECTED, "a selection")
    assert isinstance(selection, dict)
    header = variants_header(selection.get("et_kernel_metadata") or {}, path, files)
    return Result({os.path.join(str(values["output_dir"]), "selected_op_variants.h"): header})


def main(argv: Sequence[str] | None = None) -> int:
    """Run the program and return its exit status."""
    return QuickProgram("executorch.gen_selected_op_variants", __doc__ or "", _OPTIONS, _work).run(argv)


if __name__ == "__main__":
    leave(main)
