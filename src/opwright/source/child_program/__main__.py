"""Runs the text that is the first argument, as `python -c` would.

That looks for modules in the working folder, which may be a stranger's, before the text can change it: Python 3.13 and
later import some of their own first. Python looks in the folder of this file instead, which has no other module.
"""

from __future__ import annotations

import sys

sys.path[:] = [folder for folder in sys.path[1:] if folder]
sys.argv[0] = "-c"
exec(sys.argv.pop(1), {"__name__": "__main__"})
