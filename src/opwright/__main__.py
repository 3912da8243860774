"""`python -m opwright` is the program `opwright`."""

from __future__ import annotations

import os
import sys

if __name__ == "__main__":
    # Python looks for modules in the working folder first, which may be a stranger's. The program does not.
    if not sys.flags.isolated and not getattr(sys.flags, "safe_path", False) and sys.path[0] == os.getcwd():
        del sys.path[0]
    from opwright.cli.main import program

    program()
