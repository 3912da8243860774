"""Marks in each case what Opwright finds in it: `python -m tests.backend.mark_cases [NAME ...]`.

Look at the difference before you commit it: the marks are what the tests expect from then on.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from tests.backend.outcomes import run_tasks
from tests.backend.stub_cases import BACKEND, FOLDER, StubCase, load_cases, with_marks, without_marks


def mark_cases(folder: Path, load: Callable[[tuple[str, ...]], list[StubCase]], names: Sequence[str]) -> None:
    """Rewrite the cases of a folder whose names begin with one of some texts; all cases without any."""
    cases = load(tuple(names) or ("",))
    texts = [without_marks(case.text) for case in cases]
    # The files keep their marks until the new ones are known, in case that the program is stopped.
    tasks = [
        replace(case.task, files={**case.task.files, BACKEND: text}) for case, text in zip(cases, texts, strict=True)
    ]
    for case, text, outcome in zip(cases, texts, run_tasks("opwright", tasks), strict=True):
        (folder / f"{case.name}.yaml").write_text(with_marks(text, outcome.faults), encoding="utf-8")


def main() -> int:
    """Rewrite the cases whose names begin with one of the arguments; all cases without any."""
    mark_cases(FOLDER, load_cases, sys.argv[1:])
    return 0


if __name__ == "__main__":
    sys.exit(main())
