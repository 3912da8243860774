"""The C++ with which JAX calls kernels over borrowed tensors: handlers of XLA's foreign function interface."""

from __future__ import annotations

from opwright.emit.emitter import AnyEmitter, Emitter, FilePerUnit, FragmentContext, Job, Slots
from opwright.libraries.frameworks.jax_module import infer_name, jax_units, target_name
from opwright.libraries.frameworks.view_convention import ViewLibrary


def _source(unit: ViewLibrary, context: FragmentContext) -> Slots:
    handlers = [
        f"OPWRIGHT_JAX_HANDLER({unit.table}, {target_name(unit, operator)}_{device}, {operator.place}, {device})"
        for operator in unit.operators
        for device in operator.kernels
    ]
    return {
        "namespace": unit.namespace,
        "table": unit.table,
        "infer": infer_name(unit),
        "handlers": "\n".join(handlers),
    }


def emitters(job: Job) -> list[AnyEmitter]:
    """Emitter of the source for JAX."""
    return [
        Emitter(
            name="view_library_jax_sources",
            family="library",
            template="frameworks/jax.cpp",
            folder="source",
            units=jax_units,
            fragment=_source,
            layout=FilePerUnit(lambda unit: f"{unit.library.library.headers}/jax.cpp"),
        )
    ]
