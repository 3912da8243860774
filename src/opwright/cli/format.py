"""Write library files, backend files and files with derivatives in one canonical layout, in place.

  opwright format acme.yaml           schemas in their normal form, keys in order, indentation; comments stay
  opwright format --check .           only report the files that would change; exit status 1 if there are some
  opwright format --diff acme.yaml    print what would change, and change nothing

`f( Tensor! x,int n )->(Tensor)` becomes `f(Tensor(a!) x, int n) -> Tensor`. What is generated stays the same. This is
`opwright check --select W2220,W2221,E --fix`, with the options of that command."""

from __future__ import annotations

import argparse

from opwright.cli import check
from opwright.source.diagnostic import Diagnostics
from opwright.tools.check.suppressions import FORMATTING


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments: those of a check, and `--check`."""
    check.add_arguments(parser)
    parser.add_argument("--check", action="store_true", help="change nothing, and report what is not in its layout")


def run(arguments: argparse.Namespace, sink: Diagnostics) -> int:
    """Rewrite the files, or print the changes, and report the errors in the way."""
    arguments.select = [*(arguments.select or ()), *FORMATTING]
    arguments.fix = not (arguments.check or arguments.diff or arguments.watch)
    return check.run(arguments, sink)
