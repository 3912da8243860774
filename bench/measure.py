"""Paired measurements: the two programs take turns, so that a slow phase of the machine affects both."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from bench.scenarios import Scenario, Stage, sides
from tests.conformance.jobs import Side
from tests.conformance.process import run_program


class RunFailed(Exception):
    """Raised if a measured program fails."""


@dataclass(frozen=True)
class Sample:
    """One run: wall seconds of all its programs together, and the peak resident bytes of the largest process."""

    seconds: float
    peak_bytes: int


@dataclass(frozen=True)
class Measured:
    """The runs of one scenario, in pairs."""

    scenario: Scenario
    reference: tuple[Sample, ...]
    opwright: tuple[Sample, ...]

    @property
    def ratio(self) -> float:
        """How many times faster Opwright is: the median of the ratios within the pairs."""
        pairs = zip(self.reference, self.opwright, strict=True)
        return median(theirs.seconds / ours.seconds for theirs, ours in pairs)

    @property
    def memory_ratio(self) -> float:
        """Opwright's peak memory, divided by the reference's."""
        return peak(self.opwright) / peak(self.reference)


def seconds(samples: tuple[Sample, ...]) -> float:
    """The median time of some runs."""
    return median(sample.seconds for sample in samples)


def peak(samples: tuple[Sample, ...]) -> float:
    """The median peak of some runs, in bytes."""
    return median(sample.peak_bytes for sample in samples)


def measure(scenario: Scenario, rounds: int, folder: Path, say: Callable[[str], None]) -> Measured:
    """Run both sides of `scenario` in turns, `rounds` times each, after one run that does not count."""
    stages = {side: Stage(scenario, side, folder / side) for side in sides()}
    samples: dict[Side, list[Sample]] = {side: [] for side in sides()}
    for stage in stages.values():
        stage.set_up()
    # The first runs do not count: they compile modules, fill the system's file cache and write the outputs that
    # later runs find.
    for number in range(rounds + 1):
        for side, stage in stages.items():
            stage.before_run(number)
            sample = run_stage(stage)
            if number:
                samples[side].append(sample)
                say(f"{scenario.name}: {side} {number}/{rounds}: {sample.seconds:.2f} s")
    return Measured(scenario, tuple(samples["reference"]), tuple(samples["opwright"]))


def run_stage(stage: Stage) -> Sample:
    """One run of one side."""
    total, largest = 0.0, 0
    for command in stage.commands():
        finished = run_program(command, stage.output, stage.environment())
        if finished.status:
            raise RunFailed(f"exit status {finished.status} of: {' '.join(command)}\n{finished.complaint[-3000:]}")
        total += finished.seconds
        largest = max(largest, finished.peak_bytes)
    return Sample(total, largest)
