"""The headers that a release's wheel ships, which no run of any generator by us can influence."""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import replace
from functools import cache

from tests.conformance.compare import Comparison, compare, files_below
from tests.conformance.inputs import CACHE, LAZY, Files, reserve_folder, write_folder
from tests.conformance.jobs import Command, Job, commands, environment, lazy_build, prepare
from tests.conformance.lazy_inputs import lazy_headers
from tests.conformance.oracle import OUTPUT
from tests.conformance.process import run_program
from tests.conformance.release_inputs import release_folder, wheel
from tests.conformance.runner import Result

# Where the wheel has headers -> where `opwright generate` writes them.
PLACES = {
    "torch/include/ATen/": "aten/src/ATen/",
    "torch/include/torch/headeronly/core/": "torch/headeronly/core/",
    "torch/include/torch/csrc/autograd/generated/": "torch/csrc/autograd/generated/",
    "torch/include/torch/csrc/functionalization/generated/": "torch/csrc/functionalization/generated/",
    "torch/include/torch/csrc/inductor/aoti_torch/generated/": "torch/csrc/inductor/aoti_torch/generated/",
}

# A wheel is built with the backends whose headers it has.
BACKENDS = {"--mps": "MPS", "--xpu": "XPU", "--mtia": "MTIA"}

GENERATED = b"@generated "
GUARD = b"#if !defined(TORCH_STABLE_ONLY)"
SHIMS = "torch/csrc/inductor/aoti_torch/generated"


def shipped_job(release: str) -> Job:
    """The job of a release's shipped headers; there is nothing to run on the other side."""
    return Job(f"{release}-shipped", reference=(), opwright=(), inputs=release)


def shipped_lazy_job(release: str) -> Job:
    """The same for the headers of lazy tensors."""
    job = lazy_build(f"{LAZY}@{release}")
    return replace(job, name=f"{release}-shipped-lazy", reference=())


@cache
def shipped_headers(release: str) -> Files:
    """The headers in the wheel of a release where generated ones are, as they were before packaging, by our paths."""
    kept = CACHE / "shipped" / f"torch-{release}"
    if not kept.is_dir():
        members = wheel(release)
        names = [name for place in PLACES for name in members.member_names(place) if name.endswith(".h")]
        write_folder(kept, {place_of(name): unguarded(text) for name, text in members.read_members(names).items()})
    return {path: (kept / path).read_bytes() for path in files_below(kept)}


def place_of(member: str) -> str:
    """Where `opwright generate` writes the header that is this member of the wheel."""
    place = next(place for place in PLACES if member.startswith(place))
    return PLACES[place] + member[len(place) :]


def unguarded(text: bytes) -> bytes:
    """A header as it was before packaging guarded it against code for the stable interface only."""
    if not text.startswith(GUARD):
        return text
    return text[text.index(b"\n") + 1 : text.rindex(b"\n#else\n")]


def backend_flags(headers: Files) -> Command:
    """The flags of the build that made these headers."""
    return tuple(flag for flag, key in BACKENDS.items() if f"aten/src/ATen/{key}Functions.h" in headers)


def runs(job: Job, headers: Files) -> list[list[str]]:
    """Our commands: all files of the wheel's build, and the C shims' headers, which a build does not make anew."""
    source = os.fspath(release_folder(job.inputs) / "torchgen" / "packaged" / "ATen")
    generate = [sys.executable, "-m", "opwright", "generate", "--source-path", source]
    return [
        [*generate, "--out", "opwright", *backend_flags(headers)],
        [*generate, "--out", "shims", "--only", "sources", "--update-aoti-c-shim"],
    ]


def run_shipped(job: Job) -> Result:
    """Compare the generated headers that a wheel ships with ours for the same backends."""
    if job.inputs.startswith(LAZY):
        return run_shipped_lazy(job)
    headers = shipped_headers(job.inputs)
    folder = reserve_folder(OUTPUT / job.name)
    seconds = 0.0
    for command in runs(job, headers):
        finished = run_program(command, folder)
        seconds += finished.seconds
        if finished.status:
            return Result(job, Comparison(), seconds, 0.0, finished.complaint[-3000:])
    ours = folder / "opwright"
    for header in (folder / "shims" / SHIMS).glob("*.h"):
        (ours / SHIMS).mkdir(parents=True, exist_ok=True)
        header.rename(ours / SHIMS / header.name)
    made = set(files_below(ours))
    expected = {path: text for path, text in headers.items() if path in made or GENERATED in text[:2000]}
    # What is not shipped is compared by the other jobs.
    for path in made.difference(expected):
        (ours / path).unlink()
    comparison = compare(expected, ours)
    if comparison.is_clean:
        shutil.rmtree(folder)
    return Result(job, comparison, seconds, 0.0)


def run_shipped_lazy(job: Job) -> Result:
    """Compare the headers of lazy tensors that a wheel ships with ours."""
    release = job.inputs.rpartition("@")[2]
    shipped = lazy_headers(release, release)
    expected = {path: unguarded(text) for path, text in shipped.items() if "/generated/" in path}
    folder = reserve_folder(OUTPUT / job.name)
    prepare(job, folder)
    (command,) = commands(job, "opwright")
    finished = run_program(command, folder, environment(job))
    if finished.status:
        return Result(job, Comparison(), finished.seconds, 0.0, finished.complaint[-3000:])
    ours = reserve_folder(folder / "shipped")
    for header in (folder / "lazy" / "generated").glob("*.h"):
        target = ours / "torch" / "csrc" / "lazy" / "generated" / header.name
        target.parent.mkdir(parents=True, exist_ok=True)
        header.rename(target)
    comparison = compare(expected, ours)
    if comparison.is_clean:
        shutil.rmtree(folder)
    return Result(job, comparison, finished.seconds, 0.0)
