"""The units of lazy tensors, in the order of their files: groups by base name, then members in their own order."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from opwright.emit.aten.backend import KernelUnit, members
from opwright.emit.emitter import Job, per_job
from opwright.model.native_function import NativeFunction, NativeFunctionsGroup


def base_name(unit: KernelUnit) -> str:
    """The name by which units are ordered."""
    function = unit.functional if isinstance(unit, NativeFunctionsGroup) else unit
    return function.name.name


@per_job
def _ordered_units(job: Job) -> Sequence[KernelUnit]:
    return sorted(job.catalog.groups, key=base_name)


def ordered_functions(chosen: Collection[NativeFunction], job: Job) -> Iterator[NativeFunction]:
    """The chosen functions in the order of the files."""
    return (function for unit in _ordered_units(job) for function in members(unit) if function in chosen)
