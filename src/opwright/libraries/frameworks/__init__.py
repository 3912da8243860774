"""The code of libraries whose kernels get borrowed tensors, for PyTorch, JAX and TVM FFI.

Few libraries have such kernels, so the modules here are imported when one does.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from opwright.libraries.operator_library import OperatorLibrary, RunLibraries

if TYPE_CHECKING:
    from opwright.emit.emitter import AnyEmitter, Job
    from opwright.source.diagnostic import Diagnostics


def _view_libraries(job: Job) -> list[OperatorLibrary]:
    return [library for library in job.of(RunLibraries).libraries if library.takes_views]


def emitters(job: Job) -> list[AnyEmitter]:
    """Emitters of what all frameworks share, and of the code for each."""
    names = ("calls", "torch_code", "jax_code", "tvm_ffi_code") if _view_libraries(job) else ()
    return [emitter for name in names for emitter in import_module(f"{__name__}.{name}").emitters(job)]


def check_frameworks(job: Job, sink: Diagnostics) -> None:
    """Report what the frameworks of libraries whose kernels get borrowed tensors cannot take or give."""
    for library in _view_libraries(job):
        from opwright.libraries.frameworks.checks import check_library

        check_library(library, sink)
