"""C shims of the device of an external backend, which plug-ins write."""

from __future__ import annotations

from collections.abc import Iterable

from opwright.backends.external_backend import ExternalBackend
from opwright.convention.c_shim import ShimFunction
from opwright.emit.aten.c_shim import ShimUnit, functions_by_key, release_target, shim_kernel_key
from opwright.emit.emitter import Job
from opwright.release.tables import ShimOperator


def device_shims(job: Job, backend: ExternalBackend, device: str, names: Iterable[str]) -> list[ShimFunction]:
    """The C functions of a backend's device for operators, ordered by the names that tables of shims have for them.

    `device` is part of their names. An operator in the tables of the run has the versions that stand there. One whose
    types have no C form, that the run does not have, or that has no kernel for the device, gets none.
    """
    sections = [section for section in backend.sections if section.key is backend.key]
    device_functions = {entry.function for section in sections for entry in section.entries}
    functions, table = functions_by_key(job), job.shim_tables.device
    target = release_target(device, backend.key, job.rules)
    shims: list[ShimFunction] = []
    for name in sorted(functions.keys() & set(names)):
        function = functions[name]
        key = backend.key if function in device_functions else shim_kernel_key(function, backend.key, own_only=False)
        if key is not None:
            shims += ShimUnit(function, table.get(name, ShimOperator(None, ())), target, key).shim.functions
    return shims
