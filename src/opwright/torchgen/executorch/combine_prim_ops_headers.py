"""Unite several files selected_prim_ops.h into one.

Takes the flags of `python -m executorch.codegen.tools.combine_prim_ops_headers`, and writes the same bytes."""

from __future__ import annotations

import os

from opwright.cli.plain_words import text
from opwright.cli.streams import leave
from opwright.selective.edge_texts import combined_header
from opwright.source.codes import HEADER_MISSING, LIST_WRONG
from opwright.torchgen.quick_program import QuickProgram, Result

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from opwright.cli.plain_words import Values
    from opwright.selective.files import Files

_HEADER = "selected_prim_ops.h"

_OPTIONS = (
    text(
        "--header_files",
        metavar="@FILE",
        help="a file, after `@`, with the folders of the headers, separated by blanks",
        is_required=True,
    ),
    text("--output_dir", metavar="DIR", help="the folder to write the header into", is_required=True),
)


def _work(values: Values, files: Files) -> Result:
    listing = str(values["header_files"])
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
    return Result({os.path.join(str(values["output_dir"]), _HEADER): combined_header(macros)})


def main(argv: Sequence[str] | None = None) -> int:
    """Run the program and return its exit status."""
    return QuickProgram("executorch.combine_prim_ops_headers", __doc__ or "", _OPTIONS, _work).run(argv)


if __name__ == "__main__":
    leave(main)
