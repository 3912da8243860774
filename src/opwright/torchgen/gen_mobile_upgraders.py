"""Generate `upgrader_mobile.cpp`, with the bytes of PyTorch's `torchgen/operator_versions/gen_mobile_upgraders.py`.

Like that program, it asks the installed PyTorch for bytecode, unless there is a file with it. That program takes no
flags and writes into the source tree that it belongs to; this one writes into a folder below the working folder."""

from __future__ import annotations

from opwright.cli.arguments import Parser, add_build_arguments, not_empty
from opwright.cli.bytecode import add_bytecode_arguments, output_folders, write_upgraders
from opwright.cli.runs import drop_in_run_of, run_unless_current
from opwright.cli.streams import leave

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_PROGRAM = "gen_mobile_upgraders"


def _parser() -> Parser:
    parser = Parser(f"python -m opwright.torchgen.{_PROGRAM}", __doc__, last_wins=True)
    parser.add_argument("--out", metavar="DIR", type=not_empty, default="torch/csrc/jit/mobile", help="output folder")
    add_bytecode_arguments(parser)
    add_build_arguments(parser)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the program and return its exit status."""
    arguments = _parser().parse(argv)
    run = drop_in_run_of(_PROGRAM, arguments, arguments.out, output_folders(arguments), ())
    return run_unless_current(run, lambda sink: write_upgraders(arguments, run, sink), arguments)


if __name__ == "__main__":
    leave(main)
