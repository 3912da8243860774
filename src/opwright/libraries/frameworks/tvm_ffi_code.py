"""The C++ through which TVM FFI calls kernels over borrowed tensors: exported functions of its C interface."""

from __future__ import annotations

from collections.abc import Sequence

from opwright.emit.emitter import AnyEmitter, Emitter, FilePerUnit, FragmentContext, Job, Slots
from opwright.libraries.frameworks.calls import view_libraries
from opwright.libraries.frameworks.view_convention import ViewLibrary, ViewOperator, returned_places


def tvm_ffi_units(job: Job) -> Sequence[ViewLibrary]:
    """The libraries that TVM FFI calls."""
    return [unit for unit in view_libraries(job) if "tvm_ffi" in unit.library.frameworks]


def _function(unit: ViewLibrary, operator: ViewOperator) -> str:
    facts = f"{operator.name}, {operator.place}, {returned_places(operator)}"
    return f"OPWRIGHT_TVM_FFI_FUNCTION({unit.table}, {facts})"


def _source(unit: ViewLibrary, context: FragmentContext) -> Slots:
    functions = [_function(unit, operator) for operator in unit.operators]
    return {"namespace": unit.namespace, "table": unit.table, "functions": "\n".join(functions)}


def emitters(job: Job) -> list[AnyEmitter]:
    """Emitter of the source for TVM FFI."""
    return [
        Emitter(
            name="view_library_tvm_ffi_sources",
            family="library",
            template="frameworks/tvm_ffi.cpp",
            folder="source",
            units=tvm_ffi_units,
            fragment=_source,
            layout=FilePerUnit(lambda unit: f"{unit.library.library.headers}/tvm_ffi.cpp"),
        )
    ]
