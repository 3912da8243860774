"""What one edit of an input costs: the reference, Opwright, and Opwright without edits in place.

    .venv/bin/python -m bench.edits --rounds 3

Each round runs the three in turns, after an edit of the same entry. Without edits in place, Opwright loads all
operators and compares the fingerprints of all units. Seconds are processor time of whole processes with their children,
so that other work of the machine counts little.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

from bench.__main__ import quiet_folder
from bench.scenarios import Stage, State, scenarios
from tests.conformance.report import table

COLUMNS = ("edit", "reference s", "opwright s", "times less", "all operators s", "times less")
ALL = "all operators"

#: Runs a module as if no edit were one in place.
_WITHOUT_EDITS = """
import runpy, sys
from opwright.run.incremental_generation import IncrementalGeneration
IncrementalGeneration.write_edit = lambda *_: None
del sys.argv[0]
runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
"""


def seconds(stage: Stage, *, with_all: bool) -> float:
    """The processor time of one run of one side."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    for command in stage.commands():
        words = [command[0], "-c", _WITHOUT_EDITS, *command[2:]] if with_all else command
        subprocess.run(words, cwd=stage.output, env=stage.environment(), check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure(rounds: int) -> list[tuple[str, ...]]:
    """A row for each scenario with an edit."""
    rows = []
    for scenario in [scenario for scenario in scenarios() if scenario.state is State.EDITED]:
        with tempfile.TemporaryDirectory(prefix="opwright-bench-", dir=quiet_folder()) as folder:
            stages = {
                "reference": Stage(scenario, "reference", Path(folder, "reference")),
                "opwright": Stage(scenario, "opwright", Path(folder, "opwright")),
                ALL: Stage(scenario, "opwright", Path(folder, "all")),
            }
            for stage in stages.values():
                stage.set_up()
            samples: dict[str, list[float]] = {side: [] for side in stages}
            for number in range(rounds + 1):
                for side, stage in stages.items():
                    stage.before_run(number)
                    taken = seconds(stage, with_all=side == ALL)
                    if number:
                        samples[side].append(taken)
        cells = [f"{median(samples['reference']):.2f}"]
        for side in ("opwright", ALL):
            pairs = zip(samples["reference"], samples[side], strict=True)
            cells += [f"{median(samples[side]):.2f}", f"{median(theirs / ours for theirs, ours in pairs):.1f}"]
        rows.append((scenario.job.name, *cells))
        print(rows[-1], file=sys.stderr)
    return rows


def main() -> None:
    """Run the program."""
    parser = argparse.ArgumentParser(prog="python -m bench.edits", description=__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="how often each is run (default: 3)")
    print("\n".join(table(COLUMNS, measure(parser.parse_args().rounds))))


if __name__ == "__main__":
    main()
