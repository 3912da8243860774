"""Unite several files selected_prim_ops.h into one.

Takes the flags of `python -m executorch.codegen.tools.combine_prim_ops_headers`, and writes the same bytes."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from typing import Final

from opwright.cli.streams import leave
from opwright.mobile.mobile_codes import HEADER_MISSING, LIST_WRONG
from opwright.mobile.selective.edge_texts import combined_header
from opwright.mobile.selective.files import Files
from opwright.torchgen.selective_program import Program, Result

_HEADER: Final = "selected_prim_ops.h"


def _declare(add: Callable[..., object]) -> None:
    add(
        "--header_files",
        metavar="@FILE",
        help="a file, after `@`, with the folders of the headers, separated by blanks",
        required=True,
    )
    add("--output_dir", metavar="DIR", help="the folder to write the header into", required=True)


def _work(arguments: argparse.Namespace, files: Files) -> Result:
    listing = arguments.header_files
    if not listing.startswith("@"):
        files.refuse(LIST_WRONG, f"`{listing}` does not start with `@`", help=f"write `@{listing}`")
    folders = files.text(listing.removeprefix("@")).split()
    if not folders:
        files.refuse(LIST_WRONG, f"`{listing[1:]}` names no folder")
    macros: list[str] = []
    for folder in folders:
        path = os.path.join(folder, _HEADER)
        if os.path.isfile(path):
            macros += [line.strip() for line in files.text(path).splitlines()]
        else:
            files.warn(HEADER_MISSING, f"no such file: `{path}`")
    macros = [macro for macro in macros if macro.startswith("#define INCLUDE_")]
    return Result({os.path.join(arguments.output_dir, _HEADER): combined_header(macros)})


main = Program("executorch.combine_prim_ops_headers", __doc__, _declare, _work)


if __name__ == "__main__":
    leave(main)
