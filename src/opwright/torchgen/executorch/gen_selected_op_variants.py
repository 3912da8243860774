"""Write selected_op_variants.h, which tells the dtypes that operators are used with.

Takes the flags of `python -m executorch.codegen.tools.gen_selected_op_variants`, and writes the same bytes."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence

from opwright.cli.arguments import Parser, spellings
from opwright.cli.streams import leave
from opwright.mobile.selective.edge_texts import variants_header
from opwright.mobile.selective.files import Files
from opwright.torchgen.executorch.document_shapes import SELECTED
from opwright.torchgen.selective_program import Result, run_program


def _parser() -> Parser:
    parser = Parser("python -m opwright.torchgen.executorch.gen_selected_op_variants", __doc__, last_wins=True)
    add = parser.add_argument
    add(
        *spellings("yaml-file-path"),
        metavar="FILE",
        help="the selection, such as selected_operators.yaml",
        required=True,
    )
    add(*spellings("output-dir"), metavar="DIR", help="the folder to write the header into", required=True)
    return parser


def _work(arguments: argparse.Namespace, files: Files) -> Result:
    path = arguments.yaml_file_path
    selection = files.value(path, SELECTED, "a selection")
    assert isinstance(selection, dict)
    header = variants_header(selection.get("et_kernel_metadata") or {}, path, files)
    return Result({os.path.join(arguments.output_dir, "selected_op_variants.h"): header})


def main(argv: Sequence[str] | None = None) -> int:
    """Run the program and return its exit status."""
    arguments = _parser().parse(argv)
    return run_program(lambda files: _work(arguments, files))


if __name__ == "__main__":
    leave(main)
