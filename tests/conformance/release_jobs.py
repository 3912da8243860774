"""The jobs that compare other releases: the flags that matter for ATen, autograd, Python, C shims, per release."""

from __future__ import annotations

from tests.conformance.jobs import (
    AUTOGRAD_MODULE,
    DEVICES,
    FOLDERS,
    PER_OPERATOR,
    Command,
    Job,
    annotated,
    aten,
    generate_code,
    reference_autograd,
    reference_call,
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
}
WITHOUT_AOT = "no-native-aot"


def release_jobs(release: str) -> list[Job]:
    """The jobs of one release, whose names begin with it."""
    held = rules(release)
    folders = FOLDERS if held.enum_tag_is_header_only else FOLDERS[:4]
    suites = dict(ATEN_JOBS)
    if held.native_aot_stubs:
        suites[WITHOUT_AOT] = (*PER_OPERATOR, "--native-aot-ops-dir", "")
    jobs = [aten(name, *flags, inputs=release, folders=folders) for name, flags in suites.items()]
    # The two halves of the program that a build calls, which make the classes of views and their bindings as well.
    jobs.append(generate_code("autograd", "libtorch", reference_autograd("all")))
    jobs.append(generate_code("python", "pybindings", reference_call(AUTOGRAD_MODULE, "gen_autograd_python")))
    jobs.append(annotated())
    return [Job(f"{release}-{job.name}", job.reference, job.opwright, release) for job in jobs]


def all_release_jobs() -> list[Job]:
    """The jobs of every release, oldest first."""
    return [job for release in RELEASES for job in release_jobs(release)]
