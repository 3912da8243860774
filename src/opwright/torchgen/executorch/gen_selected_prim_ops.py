"""Write selected_prim_ops.h, with a macro for each primitive operator that is kept.

Takes the flags of `python -m executorch.codegen.tools.gen_selected_prim_ops`, and writes the same bytes."""

from __future__ import annotations

import os

from opwright.cli.plain_words import text
from opwright.cli.streams import leave
from opwright.selective.edge_texts import prim_ops_header
from opwright.torchgen.quick_program import QuickProgram, Result

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from opwright.cli.plain_words import Values
    from opwright.selective.files import Files

_OPTIONS = (
    text("prim-op-names", metavar="NAMES", help="names of operators, with commas between them"),
    text(
        "op-selection-yaml-path",
        metavar="FILE",
        help="a selection, such as selected_operators.yaml, with more operators",
    ),
    text("output-dir", metavar="DIR", help="the folder to write the header into", is_required=True),
)


def _work(values: Values, files: Files) -> Result:
    names: list[str] = []
    listed, path = values["prim_op_names"], values["op_selection_yaml_path"]
    if listed is not None:
        names += [name.strip() for name in str(listed).split(",") if name.strip()]
    if path:
        from opwright.torchgen.executorch.document_shapes import SELECTED

        selection = files.value(str(path), SELECTED, "a selection")
        assert isinstance(selection, dict)
        names += [*(selection.get("operators") or ()), *(selection.get("et_kernel_metadata") or ())]
    return Result({os.path.join(str(values["output_dir"]), "selected_prim_ops.h"): prim_ops_header(names)})


def _usage_error(values: Values) -> str:
    is_given = values["prim_op_names"] is not None or values["op_selection_yaml_path"]
    return "" if is_given else "one of --prim-op-names and --op-selection-yaml-path is required"


def main(argv: Sequence[str] | None = None) -> int:
    """Run the program and return its exit status."""
    return QuickProgram("executorch.gen_selected_prim_ops", __doc__ or "", _OPTIONS, _work, _usage_error).run(argv)


if __name__ == "__main__":
    leave(main)
