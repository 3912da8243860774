"""What the reference writes for a job, remembered between runs of the suite.

One job's files are one archive, named by a digest of the reference's version, the commands and the inputs. Archives
stand in a folder that git ignores: the reference's outputs are never part of the project. Several checkouts can share
this folder, so archives do not depend on the place of the checkout.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

from tests.conformance.compare import files_below
from tests.conformance.inputs import CACHE, ROOT, input_folder, reference_digest
from tests.conformance.jobs import Job, commands, environment, prepare, seed_paths
from tests.conformance.process import run_program

RECORD = "seconds.json"
#: Where jobs run. Outputs may have the relative path from here to the inputs, so both sides run at the same depth.
OUTPUT = ROOT / "build" / "conformance"
#: Stands in archives for the folder with all inputs, whose absolute path some outputs have.
INPUTS_FOLDER = b"{folder with all inputs}"


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
        files = {name: opened.read(name).replace(INPUTS_FOLDER, inputs_folder(job)) for name in opened.namelist()}
    seconds = float(json.loads(files.pop(RECORD)))
    return Oracle(files, seconds)


def job_digest(job: Job) -> str:
    """A digest of everything that the reference's outputs for `job` depend on."""
    facts: list[object] = [reference_digest(job.inputs), input_folder(job.inputs).name, job.reference]
    facts += [(target, hashlib.sha256(path.read_bytes()).hexdigest()) for target, path in seed_paths(job)]
    scripts = [ROOT / word.replace("{tests}", "tests") for step in job.reference for word in step if "{tests}" in word]
    facts += [script.read_text(encoding="utf-8") for script in scripts]
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()


def inputs_folder(job: Job) -> bytes:
    """The folder with the inputs of all jobs."""
    return os.fsencode(input_folder(job.inputs).parent)


def write_archive(archive: Path, job: Job) -> None:
    """Run the reference on `job` and keep its files as `archive`."""
    for parent in (archive.parent, OUTPUT):
        parent.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(dir=OUTPUT)) / "reference"
    draft = archive.with_name(f"{folder.parent.name}.draft")
    try:
        folder.mkdir()
        prepare(job, folder)
        seconds = run_reference(job, folder)
        with zipfile.ZipFile(draft, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as opened:
            for path in sorted(files_below(folder)):
                opened.writestr(path, (folder / path).read_bytes().replace(inputs_folder(job), INPUTS_FOLDER))
            opened.writestr(RECORD, json.dumps(seconds))
        draft.replace(archive)
    finally:
        draft.unlink(missing_ok=True)
        shutil.rmtree(folder.parent)


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
