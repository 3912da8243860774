"""What the reference writes for a job, remembered between runs of the suite.

One job's files are one archive, named by a digest of the reference's version, the commands and the inputs. Archives
stand in a folder that git ignores: the reference's outputs are never part of the project.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

from tests.conformance.compare import files_below
from tests.conformance.inputs import CACHE, ROOT, input_folder, reference_version
from tests.conformance.jobs import Job, commands, environment, prepare
from tests.conformance.process import run_program

RECORD = "seconds.json"


class ReferenceFailed(Exception):
    """Raised where the reference itself does not run through: the job is wrong, not Opwright."""


@dataclass(frozen=True)
class Oracle:
    """The reference's files for one job, by path, and the seconds it took to write them when it did."""

    files: dict[str, bytes]
    seconds: float


def load_oracle(job: Job) -> Oracle:
    """The reference's outputs for `job`: from the cache, else by running it."""
    archive = CACHE / "oracle" / f"{job.name}-{job_digest(job)[:16]}.zip"
    if not archive.is_file():
        write_archive(archive, job)
    with zipfile.ZipFile(archive) as opened:
        files = {name: opened.read(name) for name in opened.namelist()}
    seconds = float(json.loads(files.pop(RECORD)))
    return Oracle(files, seconds)


def job_digest(job: Job) -> str:
    """A digest of everything that the reference's outputs for `job` depend on."""
    facts = [reference_version(job.inputs), input_folder(job.inputs).name, job.reference, sorted(job.seeds.items())]
    scripts = [ROOT / word.replace("{tests}", "tests") for step in job.reference for word in step if "{tests}" in word]
    facts += [script.read_text(encoding="utf-8") for script in scripts]
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()


def write_archive(archive: Path, job: Job) -> None:
    """Run the reference on `job` and keep its files as `archive`."""
    archive.parent.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(dir=archive.parent))
    try:
        prepare(job, folder)
        seconds = run_reference(job, folder)
        draft = folder.with_suffix(".draft")
        with zipfile.ZipFile(draft, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as opened:
            for path in sorted(files_below(folder)):
                opened.write(folder / path, path)
            opened.writestr(RECORD, json.dumps(seconds))
        draft.replace(archive)
    finally:
        shutil.rmtree(folder)


def run_reference(job: Job, folder: Path) -> float:
    """Run the reference's commands one after the other in `folder`; the seconds they took together."""
    seconds = 0.0
    for command in commands(job, "reference"):
        finished = run_program(command, folder, environment(job))
        if finished.status:
            shown = " ".join(command)
            raise ReferenceFailed(f"exit status {finished.status} of: {shown}\n{finished.complaint[-3000:]}")
        seconds += finished.seconds
    return seconds
