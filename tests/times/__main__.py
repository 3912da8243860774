"""Run the tests of `make test`, and print their processor seconds in cold runs of the reference.

Machines differ by a factor of two, and others work on them meanwhile: so processor seconds are counted, and the
reference's full job, in an empty folder, is the unit. The tests that take most are listed.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from statistics import median

from bench.scenarios import Scenario, Stage, State
from tests.conformance.inputs import ROOT
from tests.conformance.jobs import usual_jobs
from tests.times.plugin import FOLDER


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _run(command: list[str], folder: Path, environment: dict[str, str]) -> tuple[float, int]:
    """The processor seconds of a command and the processes that it waits for, and its status."""
    before = _children()
    status = subprocess.run(command, cwd=folder, env=environment, check=False).returncode
    return _children() - before, status


def cold_run(rounds: int) -> float:
    """The processor seconds of one cold run of the reference: the median, after a run that does not count."""
    with tempfile.TemporaryDirectory() as folder:
        stage = Stage(
            Scenario(next(job for job in usual_jobs() if job.name == "full"), State.COLD),
            "reference",
            Path(folder) / "reference",
        )
        stage.set_up()
        seconds = []
        for number in range(rounds + 1):
            stage.before_run(number)
            runs = [_run(list(command), stage.output, stage.environment()) for command in stage.commands()]
            assert not any(status for _, status in runs), "the reference fails"
            seconds.append(sum(each for each, _ in runs))
    return median(seconds[1:])


def _table(folder: Path, unit: float, most: int) -> str:
    """The tests and the modules that take most, with all their phases."""
    tests: Counter[str] = Counter()
    modules: Counter[str] = Counter()
    for file in folder.glob("*.jsonl"):
        for line in file.read_text("utf-8").splitlines():
            name, _, seconds = json.loads(line)
            tests[name] += seconds
            modules[name.partition("::")[0]] += seconds
    rows = [*modules.most_common(most), ("", 0), *tests.most_common(most)]
    return "\n".join(f"{seconds:8.1f} s {seconds / unit:6.2f}  {name}" if name else "" for name, seconds in rows)


def main() -> int:
    """Run the tests; gives their exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.times", description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3, help="how many runs of the reference count (default: 3)")
    parser.add_argument("--most", type=int, default=40, help="how many modules and tests are listed (default: 40)")
    parser.add_argument("rest", nargs="*", help="arguments for pytest, after --")
    options = parser.parse_args()
    unit = cold_run(options.rounds)
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pytest", "-p", "tests.times.plugin", *options.rest]
        seconds, status = _run(command, ROOT, {**os.environ, FOLDER: folder})
        print(_table(Path(folder), unit, options.most))
    print(f"\n{seconds:.0f} processor seconds, {seconds / unit:.1f} cold runs of the reference of {unit:.1f} s")
    return status


if __name__ == "__main__":
    sys.exit(main())
