"""Replays a folder of backend files, such as those of vendors: `python -m tests.conformance.backend_folder FOLDER`.

Each YAML file below the folder goes through PyTorch's `gen_backend_stubs` and through Opwright's. The table says what
each of them makes of it. Where PyTorch's program accepts a file, the outputs are compared byte for byte.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

from tests.backend.outcomes import Outcome, Task, reference_outcomes, run_tasks
from tests.conformance.report import table

COLUMNS = ("file", "PyTorch's program", "Opwright")
LONGEST = 60
SHOWN_FAULTS = 3
_ERROR = re.compile(r"(?m)^(?:[\w.]*(?:Error|Exception)): (.*)")


def arguments() -> argparse.ArgumentParser:
    """The command line of this program."""
    parser = argparse.ArgumentParser(prog="python -m tests.conformance.backend_folder", description=__doc__)
    parser.add_argument("folder", type=Path, help="a folder with backend files, at any depth")
    return parser


def folder_tasks(folder: Path) -> list[Task]:
    """A run of the program for each YAML file below a folder."""
    tasks = []
    for path in sorted(folder.rglob("*.yaml")):
        text = path.read_text(encoding="utf-8")
        tasks.append(Task(path.relative_to(folder).as_posix(), ("-s", path.name, "-o", "out"), {path.name: text}))
    return tasks


def reference_verdict(outcome: Outcome) -> str:
    """What the reference makes of a file, in a few words."""
    if not outcome.status:
        return f"accepts it: {counted(len(outcome.files), 'file')}"
    errors = _ERROR.findall(outcome.said)
    return f"refuses it: {shortened(errors[-1] if errors else 'a traceback')}"


def verdict(outcome: Outcome, reference: Outcome) -> tuple[str, bool]:
    """What Opwright makes of a file, in a few words, and whether that is right."""
    codes = [code for *_, code in outcome.faults]
    warnings = sum(code.startswith("W") for code in codes)
    if outcome.status:
        errors = [fault for fault in outcome.faults if fault[4].startswith("E")]
        places = ", ".join([f"{code} at {line}:{column}" for _, line, column, _, code in errors[:SHOWN_FAULTS]])
        more = f" and {len(errors) - SHOWN_FAULTS} more" if len(errors) > SHOWN_FAULTS else ""
        return f"refuses it: {places or 'WITHOUT A PLACE'}{more}", bool(reference.status and errors)
    remarks = f", {counted(warnings, 'warning')}" if warnings else ""
    if reference.status:
        return f"ACCEPTS it: {counted(len(outcome.files), 'file')}{remarks}", False
    is_same = outcome.files == reference.files
    return ("identical" if is_same else "DIFFERENT") + remarks, is_same


def counted(number: int, noun: str) -> str:
    """A number of things, as `1 file` or `3 files`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def shortened(text: str) -> str:
    """A text that fits into a column."""
    return text if len(text) <= LONGEST else text[: LONGEST - 3] + "..."


def main() -> int:
    """Replay a folder; the exit status is 1 if the outcomes of any file differ."""
    folder = arguments().parse_args().folder
    tasks = folder_tasks(folder)
    if not tasks:
        print(f"no YAML file is below `{folder}`", file=sys.stderr)
        return 2
    references = reference_outcomes(tasks)
    rows, wrong = [], 0
    for task, outcome in zip(tasks, run_tasks("opwright", tasks), strict=True):
        reference = references[task.name]
        text, is_right = verdict(outcome, reference)
        rows.append((task.name, reference_verdict(reference), text))
        wrong += not is_right
    print("\n".join(table(COLUMNS, rows, left=len(COLUMNS))))
    accepted = sum(not outcome.status for outcome in references.values())
    print(f"{len(tasks)} files, {accepted} accepted by PyTorch's program; {wrong} with another outcome")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
