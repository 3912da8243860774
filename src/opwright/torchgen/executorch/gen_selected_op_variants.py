"""Write selected_op_variants.h, which tells the dtypes that operators are used with.

Takes the flags of `python -m executorch.codegen.tools.gen_selected_op_variants`, and writes the same bytes."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable

from opwright.cli.arguments import spellings
from opwright.cli.streams import leave
from opwright.mobile.selective.edge_texts import variants_header
from opwright.mobile.selective.files import Files
from opwright.torchgen.executorch.document_shapes import SELECTED
from opwright.torchgen.selective_program import Program, Result


def _declare(add: Callable[..., object]) -> None:
    add(
        *spellings("yaml-file-path"),
        metavar="FILE",
        help="the selection, such as selected_operators.yaml",
        required=True,
    )
    add(*spellings("output-dir"), metavar="DIR", help="the folder to write the header into", required=True)


def _work(arguments: argparse.Namespace, files: Files) -> Result:
    path = arguments.yaml_file_path
    selection = files.value(path, SELECTED, "a selection")
    assert isinstance(selection, dict)
    header = variants_header(selection.get("et_kernel_metadata") or {}, path, files)
    return Result({os.path.join(arguments.output_dir, "selected_op_variants.h"): header})


main = Program("executorch.gen_selected_op_variants", __doc__, _declare, _work)


if __name__ == "__main__":
    leave(main)
