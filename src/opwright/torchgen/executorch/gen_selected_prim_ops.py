"""Write selected_prim_ops.h, with a macro for each primitive operator that is kept.

Takes the flags of `python -m executorch.codegen.tools.gen_selected_prim_ops`, and writes the same bytes."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence

from opwright.cli.arguments import Parser, spellings
from opwright.cli.streams import leave
from opwright.mobile.selective.edge_texts import prim_ops_header
from opwright.mobile.selective.files import Files
from opwright.torchgen.executorch.document_shapes import SELECTED
from opwright.torchgen.selective_program import Result, run_program


def _parser() -> Parser:
    parser = Parser("python -m opwright.torchgen.executorch.gen_selected_prim_ops", __doc__, last_wins=True)
    add = parser.add_argument
    add(*spellings("prim-op-names"), metavar="NAMES", help="names of operators, with commas between them")
    add(
        *spellings("op-selection-yaml-path"),
        metavar="FILE",
        help="a selection, such as selected_operators.yaml, with more operators",
    )
    add(*spellings("output-dir"), metavar="DIR", help="the folder to write the header into", required=True)
    return parser


def _work(arguments: argparse.Namespace, files: Files) -> Result:
    names: list[str] = []
    listed, path = arguments.prim_op_names, arguments.op_selection_yaml_path
    if listed is not None:
        names += [name.strip() for name in listed.split(",") if name.strip()]
    if path:
        selection = files.value(path, SELECTED, "a selection")
        assert isinstance(selection, dict)
        names += [*(selection.get("operators") or ()), *(selection.get("et_kernel_metadata") or ())]
    return Result({os.path.join(arguments.output_dir, "selected_prim_ops.h"): prim_ops_header(names)})


def main(argv: Sequence[str] | None = None) -> int:
    """Run the program and return its exit status."""
    parser = _parser()
    arguments = parser.parse(argv)
    if arguments.prim_op_names is None and not arguments.op_selection_yaml_path:
        parser.error("one of --prim-op-names and --op-selection-yaml-path is required")
    return run_program(lambda files: _work(arguments, files))


if __name__ == "__main__":
    leave(main)
