"""Write a header with the number of kernels that ExecuTorch's registry has room for.

Takes the flags of `python -m executorch.codegen.tools.gen_max_kernel_num`, and writes the same bytes. The number is
that of the kernels in the selections, and of those that register_prim_ops.cpp always registers."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from opwright.cli.arguments import spellings
from opwright.cli.streams import leave
from opwright.mobile.selective.edge_texts import kernel_count, kernel_count_header, prim_ops_in
from opwright.mobile.selective.files import Files
from opwright.torchgen.executorch.document_shapes import SELECTED
from opwright.torchgen.selective_program import Program, Result


def _declare(add: Callable[..., object]) -> None:
    add(
        *spellings("oplist-yaml"),
        action="append",
        metavar="FILE",
        help="a selection, such as selected_operators.yaml (may be repeated)",
        required=True,
    )
    add(
        *spellings("prim-ops-source"),
        metavar="FILE",
        help="ExecuTorch's kernels/prim_ops/register_prim_ops.cpp",
        required=True,
    )
    add(*spellings("output-path"), metavar="FILE", help="the header to write", required=True)


def _work(arguments: argparse.Namespace, files: Files) -> Result:
    path, total = arguments.output_path, 0
    for name in arguments.oplist_yaml:
        selection = files.value(name, SELECTED, "a selection")
        assert isinstance(selection, dict)
        count = kernel_count(selection)
        if count is None:
            note = f"gen_max_kernel_num: {name} keeps all operators; the registry has its default size\n"
            return Result({path: kernel_count_header(None)}, standard_error=note)
        total += count
    source = arguments.prim_ops_source
    total += prim_ops_in(files.text(source), source, files)
    return Result({path: kernel_count_header(total)}, f"gen_max_kernel_num: wrote {path} (count={total})\n")


main = Program("executorch.gen_max_kernel_num", __doc__, _declare, _work)


if __name__ == "__main__":
    leave(main)
