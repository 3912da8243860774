"""The jobs of ExecuTorch's generator, on the sets of operators of its packages and on ones that the suite makes."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from tests.conformance.jobs import Job, chosen_jobs

#: What the names of the inputs begin with: `executorch-VERSION` and `executorch-VERSION-INPUTS`.
EXECUTORCH = "executorch"
#: The inputs with the cases of `tests/executorch`.
CASES = "cases"
VERSIONS = ("1.5.1", "1.4.1")
NEWEST = VERSIONS[0]

# The comment in its files names the program below the folder of the packages, unless it is elsewhere, as in a build.
_PROGRAM = "import sys, executorch.codegen.gen as program; sys.modules['__main__'].__file__ = '/gen.py'; program.main()"

_KERNELS = "{root}/executorch/kernels"
_PORTABLE = ("--functions-yaml-path", f"{_KERNELS}/portable/functions.yaml")
_CUSTOM = ("--custom-ops-yaml-path", f"{_KERNELS}/portable/custom_ops.yaml")
_CADENCE = "{root}/executorch/backends/cadence/aot"
_WIDE = ("--functions-yaml-path", "{root}/sets/wide.yaml")
_OWN = ("--custom-ops-yaml-path", "{root}/sets/custom.yaml")
_WHOLE = ("--op-selection-yaml-path", "{selection}/executorch-whole.yaml")
_SOME = ("--op-selection-yaml-path", "{selection}/executorch-some.yaml")


def executorch(name: str, *flags: str, version: str = NEWEST, inputs: str = "") -> Job:
    """A job of the program; `inputs` names other inputs of PyTorch than its own."""
    shared = ("-s", "{root}/source", "--aten-yaml-path", "{native}", "--tags-path", "{tags}", "-d", "out")
    return Job(
        f"executorch-{name}",
        reference=(("-c", _PROGRAM, *shared, *flags),),
        opwright=(("-m", "opwright.torchgen.executorch", *shared, *flags),),
        inputs=f"{EXECUTORCH}-{version}" + (f"-{inputs}" if inputs else ""),
    )


def portable(version: str = NEWEST) -> Job:
    """The job of ExecuTorch's operators."""
    return executorch("portable", *_PORTABLE, *_CUSTOM, version=version)


def wide(inputs: str = "") -> list[Job]:
    """The jobs with every operator for which something can be generated, in both modes."""
    return [
        executorch("wide", *_WIDE, *_OWN, inputs=inputs),
        executorch("wide-aten", *_OWN, *_WHOLE, "--use-aten-lib", inputs=inputs),
    ]


def set_jobs(version: str = NEWEST) -> list[Job]:
    """The jobs of the sets of operators in a package."""
    cadence = ("functions", "functions_hifi", "functions_fusion_g3", "functions_vision")
    cortex = "{root}/executorch/backends/cortex_m/ops/operators.yaml"
    quantized = ("--custom-ops-yaml-path", f"{_KERNELS}/quantized/quantized.yaml")
    copies = ("--custom-ops-yaml-path", f"{_KERNELS}/portable/et_copy_ops.yaml")
    jobs = [
        portable(),
        executorch("quantized", *quantized),
        executorch("quantized-aten", *quantized, "--use-aten-lib", *_SOME),
        *[executorch(name, "--functions-yaml-path", f"{_CADENCE}/{name}.yaml") for name in cadence],
        executorch("cortex", "--functions-yaml-path", cortex),
        executorch("keys", "--functions-yaml-path", "{root}/executorch/runtime/kernel/test/functions.yaml"),
        executorch("copies", *copies, *_WHOLE, "--use-aten-lib", "--add-exception-boundary"),
    ]
    return [replace(job, inputs=f"{EXECUTORCH}-{version}") for job in jobs]


def flag_jobs() -> list[Job]:
    """Jobs that between them use every flag."""
    return [
        executorch("boundary", *_PORTABLE, *_CUSTOM, "--add-exception-boundary"),
        executorch("manual", *_PORTABLE, "--manual-registration", "-o", "out/paths.cmake"),
        executorch("headers", *_PORTABLE, *_CUSTOM, "--generate", "headers", "--rocm"),
        executorch("sources", *_WIDE, *_OWN, "--generate", "sources", "--manual_registration"),
        executorch("several", "--functions-yaml-path", "{root}/sets/several.yaml", "--generate", "sources"),
        executorch("dispatched", "--functions-yaml-path", "{root}/sets/dispatched.yaml"),
        executorch(
            "whitelist", *_WIDE, *_OWN, "--op_registration_whitelist", "aten::add", "aten::mul", "mine::custom_add"
        ),
        executorch("selection", *_WIDE, *_OWN, *_SOME),
        executorch("selection-aten", *_OWN, *_SOME, "--use_aten_lib", "--add_exception_boundary"),
        executorch("dry-run", *_PORTABLE, "--dry-run", "-o", "paths.cmake"),
        executorch("missing", "--functions-yaml-path", "none.yaml", "--custom-ops-yaml-path", "no.yaml"),
        executorch("nothing"),
    ]


def case_job() -> Job:
    """The job of the cases, which one process of each side runs one after the other."""
    places = ("{root}", "{native}", "{tags}")
    return Job(
        "executorch-cases",
        reference=(("{tests}/executorch/case_runs.py", "reference", *places),),
        opwright=(("{tests}/executorch/case_runs.py", "opwright", *places),),
        inputs=f"{EXECUTORCH}-{NEWEST}-{CASES}",
    )


def full_jobs() -> list[Job]:
    """All jobs."""
    older = [
        replace(job, name=f"{job.name}-{version}")
        for version in VERSIONS[1:]
        for job in chosen_jobs(
            partial(set_jobs, version), "executorch-portable executorch-quantized-aten executorch-keys"
        )
    ]
    mutated = [
        replace(wide(inputs)[mode], name=f"executorch-wide-mutated-{inputs}")
        for inputs, mode in (("third", 1), ("namespace", 0), ("overloads", 0))
    ]
    return [*set_jobs(), *flag_jobs(), case_job(), *wide(), *older, *mutated]
