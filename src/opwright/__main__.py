"""`python -m opwright` is the program `opwright`."""

from __future__ import annotations

from opwright.cli.main import main

if __name__ == "__main__":
    raise SystemExit(main())
