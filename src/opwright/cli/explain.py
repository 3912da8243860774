"""Explain a diagnostic code and how to fix the error."""

from __future__ import annotations

import argparse
import pkgutil
from importlib import import_module
from typing import Final

from opwright.cli import console
from opwright.cli.streams import say
from opwright.dialects.table import DIALECTS
from opwright.source.codes import all_codes, find_code
from opwright.source.diagnostic import Diagnostics, did_you_mean

_WITHOUT_CODES: Final = ("opwright.setuptools", "opwright.lsp.server")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("code", metavar="CODE", nargs="?", help="a code such as E0312; without one, list all codes")


def run(arguments: argparse.Namespace, sink: Diagnostics) -> int:
    """Print the page of a code, or the list of codes."""
    del sink
    import_all_codes()
    if arguments.code is None:
        for code in all_codes():
            print(f"{code.code}  {code.title}")
        return console.SUCCESS
    match = find_code(arguments.code)
    if match is None:
        hint = str(did_you_mean(arguments.code.upper(), [code.code for code in all_codes()]))
        say(f"opwright explain: no code `{arguments.code}`{'; ' + hint if hint else ''}\n")
        return console.USAGE
    print(match.page)
    return console.SUCCESS


def all_code_names() -> tuple[str, ...]:
    """All codes."""
    import_all_codes()
    return tuple([code.code for code in all_codes()])


def import_all_codes() -> None:
    """Imports all modules except programs, because the modules that find faults register the codes.

    The packages of dialects that stand elsewhere are imported too. Modules that need other packages have no codes.
    """
    for name in dict.fromkeys(("opwright", *(dialect.package for dialect in DIALECTS))):
        package = import_module(name)
        for module in pkgutil.walk_packages(package.__path__, f"{name}."):
            if not module.name.endswith("__main__") and module.name not in _WITHOUT_CODES:
                import_module(module.name)
