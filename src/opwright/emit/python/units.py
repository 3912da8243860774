"""What the files of the bindings are made from: the overloads of a Python function, by name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from opwright.convention.python.bound import TENSOR_METHODS, PythonModule, is_bound, is_in_module
from opwright.convention.python.overloads import Overload
from opwright.convention.python.parser import NoPythonType
from opwright.convention.python.signature import function_signature, python_signature
from opwright.emit.emitter import Job, per_job
from opwright.emit.python.refusals import unpassable
from opwright.model.native_function import NativeFunction
from opwright.schema.names import OperatorName


class Binding(NamedTuple):
    """A Python function, or a method of tensors: its overloads, the deprecated ones last."""

    name: OperatorName
    overloads: Sequence[Overload]
    module: PythonModule

    @property
    def is_method(self) -> bool:
        """Whether it is a method."""
        return self.module is TENSOR_METHODS

    @property
    def takes_nothing(self) -> bool:
        """Whether there is one overload, without parameters (`self` of a method aside)."""
        return len(self.overloads) == 1 and not self.overloads[0].signature.parameters

    @property
    def c_name(self) -> str:
        """The name of the C++ function."""
        return f"THPVariable_{self.name.name}"


@per_job
def bound_functions(job: Job) -> list[NativeFunction]:
    """The overloads that get a binding."""
    return [function for function in job.catalog.functions if is_bound(function)]


def _overload(function: NativeFunction, method: bool) -> Overload:
    try:
        return Overload(function_signature(function, method=method), function)
    except NoPythonType as refusal:
        raise unpassable(function, str(refusal)) from None


def _overloads(job: Job, functions: Iterable[NativeFunction], *, method: bool) -> list[Overload]:
    """The overloads of functions, with the deprecated ones of the same functions after them."""
    made = {function: _overload(function, method) for function in functions}
    deprecated = [
        Overload(
            python_signature(one.schema, category=one.function.category_override, method=method, passed=one.passed),
            one.function,
        )
        for one in job.deprecated
        if one.function in made
    ]
    return [*made.values(), *deprecated]


def grouped(overloads: Iterable[Overload], module: PythonModule) -> list[Binding]:
    """The overloads by name, in the order in which the names first occur."""
    groups: dict[str, list[Overload]] = {}
    for overload in overloads:
        groups.setdefault(overload.function.name.name, []).append(overload)
    return [Binding(group[0].function.name, group, module) for group in groups.values()]


@per_job
def all_functions(job: Job) -> list[Overload]:
    """All bound overloads as functions, those that are methods only included."""
    return _overloads(job, bound_functions(job), method=False)


def bindings(job: Job, module: PythonModule) -> list[Binding]:
    """The functions of a module, or the methods."""
    if module is TENSOR_METHODS:
        methods = [function for function in bound_functions(job) if is_in_module(function, module)]
        return grouped(_overloads(job, methods, method=True), module)
    return grouped([one for one in all_functions(job) if is_in_module(one.function, module)], module)


def by_name(found: Iterable[Binding]) -> list[Binding]:
    """The bindings sorted by their names."""
    return sorted(found, key=lambda one: one.name.name)
