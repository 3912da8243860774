"""What each side makes of backend files: exit status, what it says, and the files that it writes.

The reference's outcomes are kept between runs of the suite, next to its other outputs, in a folder that git ignores.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.backend.sides import FAULTS, STUBS, SideTask
from tests.conformance.compare import files_below
from tests.conformance.inputs import CACHE, ROOT, input_folder, reference_digest
from tests.conformance.jobs import Side

#: Stands for the working folder in flags and outputs, because each run has another.
HERE = "{here}"
#: The path, line, column and width of a diagnostic, and its code.
PlacedFault = tuple[str, int, int, int, str]
_RECORD = "outcome.json"


@dataclass(frozen=True)
class Task:
    """A run of a program: its name, its flags, and the files in its working folder."""

    name: str
    flags: tuple[str, ...]
    files: Mapping[str, str] = field(default_factory=dict)
    program: str = STUBS

    def digest(self) -> str:
        """Identifies everything that the reference's outcome depends on."""
        driver = (ROOT / "tests" / "backend" / "sides.py").read_text(encoding="utf-8")
        facts = [driver, reference_digest(), input_folder("pytorch").name, self.flags, sorted(self.files.items())]
        facts += [] if self.program == STUBS else [self.program]
        return hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Outcome:
    """How a run ended: exit status, what it said, and the files that it left, by path."""

    status: int
    said: str
    files: Mapping[str, bytes]

    @property
    def faults(self) -> list[PlacedFault]:
        """Opwright's diagnostics."""
        line = next((line for line in self.said.splitlines() if line.startswith(FAULTS)), FAULTS + "[]")
        return [(path, row, column, width, code) for path, row, column, width, code in json.loads(line[len(FAULTS) :])]


def reference_outcomes(tasks: Sequence[Task]) -> dict[str, Outcome]:
    """The reference's outcomes by name of the task: from the cache, else by running it."""
    archives = {task.name: CACHE / "backend" / f"{task.name.replace('/', '-')}-{task.digest()}.zip" for task in tasks}
    missing = [task for task in tasks if not archives[task.name].is_file()]
    for task, outcome in zip(missing, run_tasks("reference", missing), strict=True):
        _write_archive(archives[task.name], outcome)
    return {name: _read_archive(archive) for name, archive in archives.items()}


def run_tasks(side: Side, tasks: Iterable[Task]) -> Iterator[Outcome]:
    """Run tasks of the same program one after the other, each in a folder of its own."""
    process: subprocess.Popen[str] | None = None
    try:
        with tempfile.TemporaryDirectory() as name:
            for number, task in enumerate(tasks):
                process = process or _start(side, task.program, Path(name) / "cache")
                yield _run_task(process, task, Path(os.path.realpath(name)) / str(number))
    finally:
        if process is not None:
            assert process.stdin is not None
            process.stdin.close()
            process.wait()


def _start(side: Side, program: str, cache: Path) -> subprocess.Popen[str]:
    path = os.pathsep.join((str(input_folder("pytorch")), str(ROOT / "src"), str(ROOT)))
    environment = {**os.environ, "PYTHONPATH": path, "OPWRIGHT_CACHE_DIR": str(cache)}
    command = [sys.executable, "-m", "tests.backend.sides", side, program]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=environment, cwd=ROOT)


def _run_task(process: subprocess.Popen[str], task: Task, folder: Path) -> Outcome:
    assert process.stdin is not None
    assert process.stdout is not None
    folder.mkdir()
    for path, text in task.files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    here = str(folder)
    order = SideTask(folder=here, flags=[flag.replace(HERE, here) for flag in task.flags])
    print(json.dumps(order), file=process.stdin, flush=True)
    status, said = json.loads(process.stdout.readline())
    paths = sorted(set(files_below(folder)) - set(task.files))
    files = {path: (folder / path).read_bytes().replace(here.encode(), HERE.encode()) for path in paths}
    return Outcome(status, said.replace(here, HERE), files)


def _write_archive(archive: Path, outcome: Outcome) -> None:
    archive.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=archive.parent) as folder:
        draft = Path(folder) / "draft"
        with zipfile.ZipFile(draft, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as opened:
            for path, contents in outcome.files.items():
                opened.writestr(path, contents)
            opened.writestr(_RECORD, json.dumps([outcome.status, outcome.said]))
        draft.replace(archive)


def _read_archive(archive: Path) -> Outcome:
    with zipfile.ZipFile(archive) as opened:
        files = {name: opened.read(name) for name in opened.namelist()}
    status, said = json.loads(files.pop(_RECORD))
    return Outcome(status, said, files)
