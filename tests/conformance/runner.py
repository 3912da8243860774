"""Running one job: our side into a folder, the comparison, and both folders kept where they differ."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from tests.conformance.compare import Comparison, compare
from tests.conformance.inputs import reserve_folder
from tests.conformance.jobs import Job, Side, commands, environment, prepare
from tests.conformance.oracle import OUTPUT, Oracle, load_oracle
from tests.conformance.process import run_program


@dataclass(frozen=True)
class Result:
    """How one job ended; where our side did not run through, `failure` is its complaint and nothing is compared."""

    job: Job
    comparison: Comparison
    seconds: float
    reference_seconds: float
    failure: str = ""

    @property
    def is_clean(self) -> bool:
        """Whether our side ran through and every file is identical."""
        return not self.failure and self.comparison.is_clean


def run_job(job: Job, side: Side = "opwright", output: Path = OUTPUT) -> Result:
    """Compare what `side` writes for `job` with the reference's files.

    Where they differ, both sets of files stay below `output` for a look with `diff -r`.
    """
    oracle = load_oracle(job)
    folder = reserve_folder(output / job.name)
    ours = reserve_folder(folder / side)
    prepare(job, ours)
    seconds = 0.0
    for command in commands(job, side):
        finished = run_program(command, ours, environment(job))
        seconds += finished.seconds
        if finished.status:
            shown = " ".join(command)
            complaint = f"exit status {finished.status} of: {shown}\n{finished.complaint[-3000:]}"
            return Result(job, Comparison(), seconds, oracle.seconds, complaint)
    comparison = compare(oracle.files, ours)
    if comparison.is_clean:
        shutil.rmtree(folder)
    else:
        unpack(oracle, comparison, folder / "expected")
    return Result(job, comparison, seconds, oracle.seconds)


def unpack(oracle: Oracle, comparison: Comparison, folder: Path) -> None:
    """Write those of the reference's files that we lack or have otherwise, for a look."""
    for path in (*comparison.different, *comparison.missing):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(oracle.files[path])
