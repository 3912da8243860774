"""Marks in each case what Opwright finds in it: `python -m tests.lazy.mark_cases [NAME ...]`.

Look at the difference before you commit it: the marks are what the tests expect from then on.
"""

from __future__ import annotations

import sys

from tests.backend.mark_cases import mark_cases
from tests.lazy.lazy_cases import FOLDER, load_cases


def main() -> int:
    """Rewrite the cases whose names begin with one of the arguments; all cases without any."""
    mark_cases(FOLDER, load_cases, sys.argv[1:])
    return 0


if __name__ == "__main__":
    sys.exit(main())
