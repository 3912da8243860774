"""Marks in each case what Opwright finds in it: `python -m tests.backend.mark_cases [NAME ...]`.

Look at the difference before you commit it: the marks are what the tests expect from then on.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.backend.outcomes import run_tasks
from tests.backend.stub_cases import FOLDER, StubCase, load_cases, with_marks, without_marks


def mark_cases(folder: Path, load: Callable[[tuple[str, ...]], list[StubCase]], names: Sequence[str]) -> None:
    """Rewrite the cases of a folder whose names begin with one of some texts; all cases without any."""
    prefixes = tuple(names) or ("",)
    for case in load(prefixes):
        (folder / f"{case.name}.yaml").write_text(without_marks(case.text), encoding="utf-8")
    cases = load(prefixes)
    for case, outcome in zip(cases, run_tasks("opwright", [case.task for case in cases]), strict=True):
        (folder / f"{case.name}.yaml").write_text(with_marks(case.text, outcome.faults), encoding="utf-8")


def main() -> int:
    """Rewrite the cases whose names begin with one of the arguments; all cases without any."""
    mark_cases(FOLDER, load_cases, sys.argv[1:])
    return 0


if __name__ == "__main__":
    sys.exit(main())
