"""Marks in each case what Opwright finds in it: `python -m tests.lazy.mark_cases [NAME ...]`.

Look at the difference before you commit it: the marks are what the tests expect from then on.
"""

from __future__ import annotations

import sys

from tests.backend.outcomes import run_tasks
from tests.backend.stub_cases import with_marks, without_marks
from tests.lazy.lazy_cases import FOLDER, load_cases


def main() -> int:
    """Rewrite the cases whose names begin with one of the arguments; all cases without any."""
    names = tuple(sys.argv[1:]) or ("",)
    for case in load_cases(names):
        (FOLDER / f"{case.name}.yaml").write_text(without_marks(case.text), encoding="utf-8")
    cases = load_cases(names)
    for case, outcome in zip(cases, run_tasks("opwright", [case.task for case in cases]), strict=True):
        (FOLDER / f"{case.name}.yaml").write_text(with_marks(case.text, outcome.faults), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
