"""`python -m opwright` is the program `opwright`."""

from __future__ import annotations

from opwright.cli.main import program

if __name__ == "__main__":
    program()
