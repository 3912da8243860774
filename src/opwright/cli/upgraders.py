"""Write the upgraders with which old mobile models run on the operators of today, from their bytecode.

opwright upgraders --bytecode upgraders.json --out torch/csrc/jit/mobile     from a file; needs no PyTorch
opwright upgraders --dump-bytecode upgraders.json --out build                from the installed PyTorch, and keep it"""

from __future__ import annotations

import argparse

from opwright.cli.arguments import not_empty
from opwright.cli.bytecode import add_bytecode_arguments, output_folders, write_upgraders
from opwright.cli.runs import current_manifest, run_of

# Modules that do the work are imported only if there is work.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from opwright.incremental.identity import RunIdentity
    from opwright.source.diagnostic import Diagnostics


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("--out", metavar="DIR", type=not_empty, required=True, help="output folder")
    add_bytecode_arguments(parser)


def _run(arguments: argparse.Namespace) -> RunIdentity:
    return run_of("upgraders", arguments, arguments.out, output_folders(arguments), ())


def is_up_to_date(arguments: argparse.Namespace) -> bool:
    """Whether an earlier run did all that this one would do."""
    return current_manifest(_run(arguments), arguments.color) is not None


def run(arguments: argparse.Namespace, sink: Diagnostics) -> int:
    """Write the file."""
    return write_upgraders(arguments, _run(arguments), sink)
