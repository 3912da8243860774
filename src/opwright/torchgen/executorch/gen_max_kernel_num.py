"""Write a header with the number of kernels that ExecuTorch's registry has room for.

Takes the flags of `python -m executorch.codegen.tools.gen_max_kernel_num`, and writes the same bytes. The number is
that of the kernels in the selections, and of those that register_prim_ops.cpp always registers."""

from __future__ import annotations

from opwright.cli.plain_words import text, texts
from opwright.cli.streams import leave
from opwright.selective.edge_texts import kernel_count, kernel_count_header, prim_ops_in
from opwright.torchgen.quick_program import QuickProgram, Result

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from opwright.cli.plain_words import Values
    from opwright.selective.files import Files

_OPTIONS = (
    texts(
        "oplist-yaml",
        metavar="FILE",
        help="a selection, such as selected_operators.yaml (may be repeated)",
        is_required=True,
    ),
    text(
        "prim-ops-source", metavar="FILE", help="ExecuTorch's kernels/prim_ops/register_prim_ops.cpp", is_required=True
    ),
    text("output-path", metavar="FILE", help="the header to write", is_required=True),
)


def _work(values: Values, files: Files) -> Result:
    from opwright.torchgen.executorch.document_shapes import SELECTED

    path, total = str(values["output_path"]), 0
    selections = values["oplist_yaml"]
    assert isinstance(selections, list)
    for name in selections:
        selection = files.value(name, SELECTED, "a selection")
        assert isinstance(selection, dict)
        count = kernel_count(selection)
        if count is None:
            note = f"gen_max_kernel_num: {name} keeps all operators; the registry has its default size\n"
            return Result({path: kernel_count_header(None)}, standard_error=note)
        total += count
    source = str(values["prim_ops_source"])
    total += prim_ops_in(files.text(source), source, files)
    return Result({path: kernel_count_header(total)}, f"gen_max_kernel_num: wrote {path} (count={total})\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the program and return its exit status."""
    return QuickProgram("executorch.gen_max_kernel_num", __doc__ or "", _OPTIONS, _work).run(argv)


if __name__ == "__main__":
    leave(main)
