"""What the three programs share: an entry in a folder, and the verdict about a candidate."""

import argparse
import json
import sys
import tempfile
from pathlib import Path

import opwright


def arguments_of(description, *names):
    """The arguments of a program."""
    parser = argparse.ArgumentParser(description=description)
    for name in names:
        parser.add_argument(name, type=Path if name != "operator" else str)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--fields", type=json.loads, default={}, help="more fields of the entry, as JSON")
    return parser.parse_args()


def judge(entry, reference, candidate, seed):
    """Print the verdict about the text of a candidate by an entry with the text of a reference; gives the status."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        head = {"namespace": "task", "operators": [{"dispatch": {"CPU": "task"}, **entry}]}
        (folder / "task.yaml").write_text(json.dumps(head), encoding="utf-8")
        (folder / "task_reference.py").write_text(reference, encoding="utf-8")
        (folder / "solution").mkdir()
        (folder / "solution" / "candidate.py").write_text(candidate, encoding="utf-8")
        verdict = opwright.accept(f"{folder}/task.yaml", f"{folder}/solution/candidate.py::task", seed=seed)
    print(verdict)
    return verdict.status


def finish(status):
    """End the program."""
    sys.exit(status)
