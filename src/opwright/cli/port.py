"""Move the C++ kernels of a library to PyTorch's stable headers, so that one binary serves many releases.

  opwright port csrc --diff                  show what would change
  opwright port csrc --out ported            write the ported files to another folder
  opwright port csrc                         change the files in place
  opwright port csrc --check                 write nothing, and compile; exit status 1 if a line needs a change

The program changes what needs no decision, and lists the rest: file, line, code, reason, and the first release whose
stable headers help. Operators that the stable headers lack are called through the dispatcher, by functions of a header
that it writes. Registrations stay: `opwright import` moves them."""

from __future__ import annotations

import argparse
import os

from opwright.cli.arguments import add_input_arguments, not_empty
from opwright.cli.input_arguments import open_named_inputs
from opwright.source.lazy import lazy_pattern
from opwright.source.terminal import print_document, tell

TYPE_CHECKING = False
if TYPE_CHECKING:
    from opwright.migrate.porting.compile_check import CompiledPort
    from opwright.migrate.porting.run import Ported
    from opwright.source.diagnostic import Diagnostics

_RELEASE = lazy_pattern(r"2\.(9|[1-9]\d)")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "sources", metavar="SOURCE", nargs="+", type=not_empty, help="a C++ source, or a folder with sources"
    )
    parser.add_argument(
        "--stable", action="store_true", help="port to the stable headers: what the command does anyway"
    )
    parser.add_argument("--out", metavar="DIR", default="", help="write the ported files there (default: in place)")
    parser.add_argument(
        "--target",
        metavar="RELEASE",
        type=_release,
        default=(2, 10),
        help="the oldest release that the library serves, such as 2.11 (default: 2.10)",
    )
    parser.add_argument(
        "--header",
        metavar="FILE",
        default="",
        help="the header with the calls of operators (default: `stable_ops.h` in the folder of the ported files)",
    )
    parser.add_argument("--force", action="store_true", help="replace files that exist below --out")
    parser.add_argument("--diff", action="store_true", help="write nothing; print the difference")
    parser.add_argument(
        "--check",
        action="store_true",
        help="write nothing; compile what would be written, and count lines without errors; "
        "exit status 1 if a line needs a change",
    )
    add_input_arguments(parser)


def _release(text: str) -> tuple[int, int]:
    match = _RELEASE.fullmatch(text)
    if match is None:
        raise argparse.ArgumentTypeError(f"{text!r} is no release with stable headers: write 2.9 or a later one")
    return 2, int(match[1])


def run(arguments: argparse.Namespace, sink: Diagnostics) -> int:
    """Port the sources, and tell what stays."""
    from opwright.cli import console
    from opwright.migrate.porting.run import PortRequest, compiled_port, port_sources, write_port
    from opwright.release.view import NATIVE_FUNCTIONS
    from opwright.workspace.user_files import finish_killed_runs

    finish_killed_runs()
    pytorch = open_named_inputs(arguments, sink).read_text(NATIVE_FUNCTIONS).text
    request = PortRequest(tuple(arguments.sources), arguments.out, arguments.header, arguments.target, pytorch)
    ported = port_sources(request)
    if arguments.diff:
        print_document(ported.difference())
    elif not arguments.check:
        write_port(ported, force=arguments.force)
    translated = sum([len(file.done) for file in ported.files])
    compiled = None
    if arguments.check:
        ported, compiled = compiled_port(ported, request)
    _tell(ported, translated, compiled, arguments.target)
    needed = sum([len(file.needed) for file in ported.files])
    return console.FAULTS if arguments.check and needed else console.SUCCESS


def _tell(ported: Ported, translated: int, compiled: CompiledPort | None, target: tuple[int, int]) -> None:
    """Print what stays, how many lines are translated and, if a compiler read them, how many of them compile."""
    for file in ported.files:
        for code in file.left:
            tell(f"stays: {os.path.normpath(file.path)}:{code.line}: {code}")
    for path in ported.unnamed:
        tell(f"needs the same: {os.path.normpath(path)}: the sources include it; name it too")
    needed = sum([len(file.needed) for file in ported.files])
    share = f", {100 * translated // needed}%" if needed else ""
    files = "1 file" if len(ported.files) == 1 else f"{len(ported.files)} files"
    tell(f"{files}: {translated} of {needed} lines that need a change are translated{share}")
    if compiled is None:
        return
    staying = {(file.path, code.line) for file in ported.files for code in file.left}
    for path, reason in compiled.unchecked.items():
        tell(f"not compiled: {os.path.normpath(path)}: {reason}")
    for error in compiled.errors:
        if (error.path, error.line) not in staying:
            tell(f"does not compile: {os.path.normpath(error.path)}:{error.line}: {error.message}")
    if compiled.headers:
        done = sum([len(file.done) for file in ported.files])
        oldest = "{}.{}".format(*target)
        tell(f"{done} of them compile with the stable headers of PyTorch {compiled.headers}, as those of {oldest}")
