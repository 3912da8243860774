"""Write selected_mobile_ops.h for root operators; takes the flags of PyTorch's `gen_selected_mobile_ops_header.py`.

All kernels keep all their dtypes. `gen_oplist` writes the header for a selection, which may name dtypes."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable

from opwright.cli.arguments import spellings
from opwright.cli.streams import leave
from opwright.mobile.selective.files import Files
from opwright.mobile.selective.mobile_headers import root_header
from opwright.mobile.selective.shapes import NAMES
from opwright.torchgen.selective_program import Program, Result


def _declare(add: Callable[..., object]) -> None:
    add(
        "-p",
        *spellings("yaml-file-path"),
        metavar="FILE",
        help="a YAML list of the operators that models call",
        required=True,
    )
    add("-o", *spellings("output-file-path"), metavar="DIR", help="the folder to write the header into", required=True)


def _work(arguments: argparse.Namespace, files: Files) -> Result:
    roots = files.value(arguments.yaml_file_path, NAMES, "a list of operators")
    assert isinstance(roots, list)
    return Result({os.path.join(arguments.output_file_path, "selected_mobile_ops.h"): root_header(roots)})


main = Program("gen_selected_mobile_ops_header", __doc__, _declare, _work)


if __name__ == "__main__":
    leave(main)
