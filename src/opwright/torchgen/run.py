"""Run a Python program whose imports of `torchgen` get Opwright's modules instead, installed or not.

Processes that the program starts are not changed: for those, see `python -m opwright.torchgen.install`."""

from __future__ import annotations

import os
import runpy
import sys
from collections.abc import Sequence

from opwright.cli.arguments import Parser
from opwright.torchgen.forwarding import ForwardingFinder


def _parser() -> Parser:
    import argparse

    parser = Parser("python -m opwright.torchgen.run", __doc__)
    parser.add_argument("-m", dest="module", action="store_true", help="PROGRAM is a module, as for python -m")
    parser.add_argument("program", metavar="PROGRAM", help="the path of the program")
    parser.add_argument("words", metavar="ARGUMENT", nargs=argparse.REMAINDER, help="the program's own arguments")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the program in this process; it ends as the program does."""
    parser = _parser()
    arguments = parser.parse(argv)
    program = str(arguments.program)
    if not arguments.module and not os.path.exists(program):
        parser.error(f"there is no program `{program}`")
    sys.meta_path.insert(0, ForwardingFinder())
    sys.argv = [program, *arguments.words]
    if arguments.module:
        sys.path.insert(0, os.getcwd())
        runpy.run_module(program, run_name="__main__", alter_sys=True)
    else:
        sys.path.insert(0, os.path.dirname(os.path.abspath(program)))
        runpy.run_path(program, run_name="__main__")
    return 0


if __name__ == "__main__":
    sys.exit(main())
