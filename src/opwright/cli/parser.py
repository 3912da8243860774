"""The parser of command lines that all programs have."""

from __future__ import annotations

import argparse
import os
import sys

__all__ = ["Parser"]

_COLUMNS = 80


class _Formatter(argparse.RawDescriptionHelpFormatter):
    """Help as wide as the terminal.

    `argparse` asks for the width with every argument that is declared, by way of `shutil`, whose import takes longer
    than many a run with nothing to do.
    """

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=_columns() - 2)


class Parser(argparse.ArgumentParser):
    """A parser whose help keeps the lines of its description."""

    def __init__(self, prog: str, description: str | None) -> None:
        super().__init__(prog=prog, description=description, formatter_class=_Formatter)


def _columns() -> int:
    """The width of the terminal: what the user says of it, or the system knows, else the usual."""
    said = os.environ.get("COLUMNS", "")
    if said.isdecimal() and int(said) > 0:
        return int(said)
    try:
        return os.get_terminal_size(sys.__stdout__.fileno()).columns if sys.__stdout__ is not None else _COLUMNS
    except (OSError, ValueError):
        return _COLUMNS
