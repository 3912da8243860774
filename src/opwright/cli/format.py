"""Write the schemas of library files in their normal form, in place.

  opwright format acme.yaml           f( Tensor! x,int n )->(Tensor) becomes f(Tensor(a!) x, int n) -> Tensor
  opwright format --diff acme.yaml    print what would change, and change nothing

This is `opwright check --select W2220,E --fix`, with the options of that command."""

from __future__ import annotations

import argparse

from opwright.check.suppressions import FORMATTING
from opwright.cli import check
from opwright.source.diagnostic import Diagnostics

REPORTS_PLUGINS = check.REPORTS_PLUGINS


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments: those of a check."""
    check.add_arguments(parser)
    parser.set_defaults(fix=True)


def run(arguments: argparse.Namespace, sink: Diagnostics) -> int:
    """Rewrite the files, or print the changes, and report the errors in the way."""
    arguments.select = [*(arguments.select or ()), *FORMATTING]
    return check.run(arguments, sink)
