"""Write selected_mobile_ops.h for root operators; takes the flags of PyTorch's `gen_selected_mobile_ops_header.py`.

All kernels keep all their dtypes. `gen_oplist` writes the header for a selection, which may name dtypes."""

from __future__ import annotations

import os

from opwright.cli.plain_words import text
from opwright.cli.streams import leave
from opwright.selective.mobile_headers import root_header
from opwright.torchgen.quick_program import QuickProgram, Result

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from opwright.cli.plain_words import Values
    from opwright.selective.files import Files

_OPTIONS = (
    text(
        "-p", "yaml-file-path", metavar="FILE", help="a YAML list of the operators that models call", is_required=True
    ),
    text("-o", "output-file-path", metavar="DIR", help="the folder to write the header into", is_required=True),
)


def _work(values: Values, files: Files) -> Result:
    from opwright.selective.shapes import NAMES

    roots = files.value(str(values["yaml_file_path"]), NAMES, "a list of operators")
    assert isinstance(roots, list)
    return Result({os.path.join(str(values["output_file_path"]), "selected_mobile_ops.h"): root_header(roots)})


def main(argv: Sequence[str] | None = None) -> int:
    """Run the program and return its exit status."""
    return QuickProgram("gen_selected_mobile_ops_header", __doc__ or "", _OPTIONS, _work).run(argv)


if __name__ == "__main__":
    leave(main)
