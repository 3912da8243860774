"""The program behind `make kills`: kills hundreds of runs and fails where one loses, leaves or orphans anything.

It kills generations, and it kills `check --fix` while someone saves the file."""

from __future__ import annotations

import argparse
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

from tests.kills.edits import Disturbances
from tests.kills.harness import Kills, Tally
from tests.tools.check.cases import RELEASE


def main() -> int:
    """Run the program; the exit status is 1 where anything was wrong after a kill."""
    parser = argparse.ArgumentParser(prog="python -m tests.kills", description=__doc__)
    parser.add_argument("--count", type=int, default=500, help="how many runs are killed (default: 500)")
    parser.add_argument("--only", choices=("generations", "fixes"), help="kill runs of one kind alone")
    parser.add_argument("--seed", type=int, default=0, help="what the moments are drawn from (default: 0)")
    options = parser.parse_args()
    spec = find_spec("torchgen")
    assert spec is not None
    assert spec.origin is not None
    inputs = Path(spec.origin).parent / "packaged" / "ATen"
    faults: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        if options.only != "fixes":
            tally = Kills(Path(folder).resolve() / "generations", inputs, options.seed).run(options.count, _show)
            faults += tally.faults
            print(
                f"{tally.kills} kills, {tally.ended} of which ended a run, the longest orphan {tally.outlived:.2f} s: "
                f"{len(tally.faults)} faults"
            )
        if options.only != "generations":
            fixes = Disturbances(Path(folder).resolve() / "fixes", RELEASE, options.seed).run(options.count)
            faults += fixes.faults
            print(
                f"{fixes.rounds} fixes, {fixes.killed} of which were killed, {fixes.saves} saves meanwhile: "
                f"{len(fixes.faults)} faults"
            )
    for fault in faults:
        print(fault)
    return 1 if faults else 0


def _show(tally: Tally) -> None:
    if tally.kills % 50 == 0:
        print(f"{tally.kills} kills, {len(tally.faults)} faults", flush=True)


if __name__ == "__main__":
    sys.exit(main())
