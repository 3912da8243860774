"""The jobs that compare other releases: the flags that matter for ATen, autograd, Python, C shims, per release."""

from __future__ import annotations

from dataclasses import replace

from opwright.release.rules import Rules
from tests.conformance.inputs import BUILD_PROGRAM, LAZY, STUBS
from tests.conformance.jobs import (
    AUTOGRAD_MODULE,
    DEVICES,
    FOLDERS,
    PER_OPERATOR,
    VIEW_META_CALL,
    Command,
    Job,
    annotated,
    aten,
    backend_of_release,
    flag_jobs,
    generate_code,
    lazy_build,
    lazy_wide,
    reference_autograd,
    reference_call,
    static_runtime,
    torch_stubs,
)
from tests.conformance.release_inputs import RELEASES, rules

#: Job -> the flags that both sides get besides the folders.
ATEN_JOBS: dict[str, Command] = {
    "default": PER_OPERATOR,
    "rocm": (*PER_OPERATOR, "--rocm"),
    "devices": (*PER_OPERATOR, *DEVICES),
    "static-cpu": (*PER_OPERATOR, "--static-dispatch-backend", "CPU"),
    "aggregated": (),
    "shims": (*PER_OPERATOR, "--update-aoti-c-shim", "--generate", "headers", "sources"),
    # What a build asks for at configure time, and a build for phones.
    "lists": (*PER_OPERATOR, "--dry-run", "--output-dependencies", "generated.cmake"),
    "backends": (*PER_OPERATOR, "--backend_whitelist", "CPU", "QuantizedCPU", "--generate", "sources"),
}
WITHOUT_AOT = "no-native-aot"


def release_jobs(release: str) -> list[Job]:
    """The jobs of one release, whose names begin with it: one for each family that Opwright writes for it."""
    held = rules(release)
    if not held.pytorch_files:
        return [replace(backend_of_release(release), name=f"{release}-backend", inputs=release)]
    folders = FOLDERS if held.enum_tag_is_header_only else FOLDERS[:4]
    suites = dict(ATEN_JOBS)
    if held.native_aot_stubs:
        suites[WITHOUT_AOT] = (*PER_OPERATOR, "--native-aot-ops-dir", "")
    jobs = [aten(name, *flags, inputs=release, folders=folders) for name, flags in suites.items()]
    # The two halves of the program that a build calls, which make the classes of views and their bindings as well.
    jobs.append(generate_code("autograd", "libtorch", reference_autograd("all", program=BUILD_PROGRAM)))
    jobs.append(generate_code("python", "pybindings", reference_call(AUTOGRAD_MODULE, "gen_autograd_python")))
    jobs.append(annotated())
    jobs.append(backend_of_release(release))
    jobs.append(static_runtime())
    lazy = f"{LAZY}@{release}"
    made = [replace(job, inputs=release) for job in jobs]
    made += [lazy_build(lazy), lazy_wide(lazy)]
    return [
        *[replace(job, name=f"{release}-{job.name}", reference=known_steps(job, held)) for job in made],
        *([torch_stubs(f"{release}-torch-stubs", f"{STUBS}@{release}")] if held.torch_stub_files else []),
    ]


def known_steps(job: Job, held: Rules) -> tuple[Command, ...]:
    """The reference's commands of a job without a function that its generator does not have."""
    return tuple(step for step in job.reference if held.view_meta_classes or VIEW_META_CALL not in step)


def program_release_jobs(release: str) -> list[Job]:
    """The jobs of a release for lazy tensors, static runtime and external backends."""
    programs = ("lazy-build", "static-runtime", "backend")
    return [job for job in release_jobs(release) if job.name.removeprefix(f"{release}-") in programs]


def all_release_jobs() -> list[Job]:
    """The jobs of every release, oldest first."""
    return [job for release in RELEASES for job in release_jobs(release)]


def flag_release_jobs(release: str) -> list[Job]:
    """The combinations of flags that the installed release is compared under, for another release.

    Left out are those that stand in `release_jobs` already, and those that begin with headers of the installed one.
    """
    if not rules(release).pytorch_files:
        return []
    known = {(*FOLDERS, *flags) for flags in ATEN_JOBS.values()}
    chosen = [
        job
        for job in flag_jobs()
        if job.name.startswith("flags-") and not job.seeds and job.reference[0][_FLAGS:] not in known
    ]
    return [
        Job(
            f"{release}-{job.name}",
            tuple(_known_flags(step, release) for step in job.reference),
            tuple(_known_flags(step, release) for step in job.opwright),
            release,
        )
        for job in chosen
    ]


# The reference's flags stand after `-m torchgen.gen --source-path {aten}`.
_FLAGS = 4


def _known_flags(step: Command, release: str) -> Command:
    """A command without the flags that the generator of a release does not have."""
    held = rules(release)
    if held.enum_tag_is_header_only or FOLDERS[4] not in step:
        return step
    place = step.index(FOLDERS[4])
    return step[:place] + step[place + 2 :]
