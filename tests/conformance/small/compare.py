"""Runs both sides on small inputs and says where they differ."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.conformance.compare import compare, files_below
from tests.conformance.inputs import ROOT, input_folder
from tests.conformance.small.inputs import SmallInput

SIDES = ("reference", "opwright")


@dataclass(frozen=True)
class Ending:
    """How one program ended: its exit status and what it said."""

    status: int
    said: str


#: How the programs of one side ended, by name.
Endings = Mapping[str, Ending]


@dataclass(frozen=True)
class Verdict:
    """What came out for one input: how the programs of each side ended, and what differs.

    Only what a program writes that ends well on both sides is compared.
    """

    given: SmallInput
    reference: Endings
    opwright: Endings
    different: tuple[str, ...]
    first_difference: str

    @property
    def refused(self) -> str:
        """What the reference says where one of its programs refuses the input; empty where none does."""
        return complaint(self.reference)

    @property
    def refused_here(self) -> str:
        """The same for Opwright."""
        return complaint(self.opwright)

    @property
    def crashed(self) -> bool:
        """Whether a program of ours ended by a fault of its own."""
        return any(ending.status not in (0, 1) for ending in self.opwright.values())


def complaint(endings: Endings) -> str:
    """What the first program that ended badly says."""
    return next((ending.said for ending in endings.values() if ending.status), "")


def verdicts(inputs: Iterable[SmallInput], release: str = "pytorch") -> Iterator[Verdict]:
    """Run both sides on each of `inputs`, with the installed PyTorch's generator and templates or a release's."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        # The reference names its templates from the folder that its modules are in, so the inputs lie beside them.
        site = Path(shutil.copytree(input_folder(release), folder / "site"))
        runners = {side: start(side, site, folder) for side in SIDES}
        try:
            for given in inputs:
                yield verdict(given, folder, runners)
        finally:
            for runner in runners.values():
                assert runner.stdin is not None
                runner.stdin.close()
                runner.wait()


def start(side: str, site: Path, folder: Path) -> subprocess.Popen[str]:
    """The program that runs one side."""
    path = os.pathsep.join(map(str, (ROOT / "src", ROOT, site)))
    environment = {**os.environ, "PYTHONPATH": path, "XDG_CACHE_HOME": str(folder / "cache")}
    command = [sys.executable, "-m", "tests.conformance.small.both_sides", side]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=environment)


def verdict(given: SmallInput, folder: Path, runners: Mapping[str, subprocess.Popen[str]]) -> Verdict:
    """Run both sides on one input at the same time, and compare."""
    packaged = folder / "site" / "torchgen" / "packaged"
    flags = given.write(packaged)
    for side, runner in runners.items():
        shutil.rmtree(folder / side, ignore_errors=True)
        task = {"inputs": str(packaged), "output": str(folder / side), "flags": flags}
        print(json.dumps(task), file=runner.stdin, flush=True)
    reference, opwright = (read_endings(runners[side]) for side in SIDES)
    different: list[str] = []
    first_difference = ""
    for program, ending in reference.items():
        if not ending.status and not opwright[program].status:
            expected = folder / "reference" / program
            files = {path: (expected / path).read_bytes() for path in files_below(expected)}
            outcome = compare(files, folder / "opwright" / program)
            different += [f"{program}/{path}" for path in (*outcome.different, *outcome.missing, *outcome.extra)]
            first_difference = first_difference or outcome.first_difference
    return Verdict(given, reference, opwright, tuple(different), first_difference)


def read_endings(runner: subprocess.Popen[str]) -> Endings:
    """How the programs of a side ended for the input that it was given last."""
    assert runner.stdout is not None
    answer = json.loads(runner.stdout.readline())
    return {name: Ending(status, said) for name, (status, said) in answer.items()}
