"""The families of files for phones: static runtime, and the code around ExecuTorch's kernels."""

from __future__ import annotations

from opwright.emit.family import PYTORCH_FILES, Check, Family

# Programs read the rows before they know whether there is anything to do: no import for types.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

_EXECUTORCH: Final = {"executorch": ""}
_EXECUTORCH_JOB: Final = "opwright.mobile.executorch.job:load_executorch_job"
_CHECK_TYPES: Final = Check("opwright.mobile.executorch.checks:check_types")

#: Families of files.
FAMILIES: Final = (
    Family(
        "static_runtime",
        "the operators of static runtime, with their tests",
        emitters=("opwright.mobile.static_runtime.operators", "opwright.mobile.static_runtime.tests"),
        folders={
            "static_runtime": "torch/csrc/jit/runtime/static",
            "static_runtime_tests": "benchmarks/static_runtime",
        },
        checks=(Check("opwright.mobile.static_runtime.support:check_static_runtime"),),
        by_default=False,
        programs={"gen_static_runtime_ops": None},
        rule=PYTORCH_FILES,
    ),
    Family(
        "executorch_headers",
        "the headers of ExecuTorch's kernels",
        emitters=("opwright.mobile.executorch.functions_header", "opwright.mobile.executorch.kernel_headers"),
        folders=_EXECUTORCH,
        dialects=("executorch",),
        checks=(_CHECK_TYPES, Check("opwright.mobile.executorch.checks:check_functions")),
        by_default=False,
        job_loader=_EXECUTORCH_JOB,
        file_options=("executorch", "executorch_custom"),
        programs={"executorch.gen": "headers"},
        rule=PYTORCH_FILES,
    ),
    Family(
        "executorch_sources",
        "the registrations of ExecuTorch's kernels",
        emitters=("opwright.mobile.executorch.kernels", "opwright.mobile.executorch.custom_operators"),
        folders=_EXECUTORCH,
        dialects=("executorch",),
        checks=(_CHECK_TYPES, Check("opwright.mobile.executorch.checks:check_registrations")),
        by_default=False,
        job_loader=_EXECUTORCH_JOB,
        file_options=("executorch", "executorch_custom"),
        programs={"executorch.gen": "sources"},
        rule=PYTORCH_FILES,
    ),
)

#: Names of the families of ExecuTorch's files.
EXECUTORCH_FAMILIES: Final = tuple(family.name for family in FAMILIES if family.job_loader)
