"""What the files of the bindings are made from: the overloads of a Python function, by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Final, NamedTuple

from opwright.convention.python.bound import MODULES, TENSOR_METHODS, TORCH, PythonModule, is_bound
from opwright.convention.python.overloads import Overload, Pair, ordered, paired
from opwright.convention.python.signature import function_signature, python_signature
from opwright.emit.emitter import Job, per_job
from opwright.emit.python.codes import UNKNOWN_MODULE
from opwright.emit.python.refusals import REFUSALS, check_overload, refused
from opwright.model.deprecated import DeprecatedSignature
from opwright.model.native_function import NativeFunction
from opwright.model.said import Said
from opwright.schema.names import OperatorName
from opwright.source.diagnostic import Diagnostics, Fault, did_you_mean


class Binding(Said):
    """A Python function, or a method of tensors: its overloads, the deprecated ones last."""

    def __init__(self, name: OperatorName, module: PythonModule, overloads: tuple[Overload, ...]) -> None:
        self.name: Final = name
        self.module: Final = module
        self.overloads: Final = overloads

    @cached_property
    def pairs(self) -> list[Pair]:
        """What the parser's signatures call, in the order in which it tries them.

        Raises Repeated and OutAlone, for which `bindings` has made sure that there is no reason.
        """
        return ordered(paired(self.overloads))

    @property
    def said(self) -> tuple[object, ...]:
        """The module and the functions, from which the signatures follow, and the deprecated signatures."""
        deprecated = [
            f"{one.signature.schema} as {one.signature.passed}" for one in self.overloads if one.signature.deprecated
        ]
        return (self.module.name, *[one.function for one in self.overloads], *deprecated)

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


class _Bindings(NamedTuple):
    """The bindings of a job by module, and what keeps others from being made."""

    by_module: Mapping[PythonModule, list[Binding]]
    faults: list[Fault]


@per_job
def bound_functions(job: Job) -> list[NativeFunction]:
    """The overloads that get a binding."""
    return [function for function in job.catalog.functions if is_bound(function)]


_BY_KEY: Final = {module.key: module for module in MODULES if module.key is not None}


def _modules(function: NativeFunction) -> list[PythonModule]:
    """Where an overload is found: in the module of its entry, else in `torch` and among the methods, as it has both."""
    if function.python_module is not None:
        module = _BY_KEY.get(function.python_module)
        return [] if module is None else [module]
    modules = [TORCH] if function.function else []
    return [*modules, TENSOR_METHODS] if function.method else modules


class _Collector:
    """Puts overloads into groups, and groups into bindings; notes what is refused."""

    def __init__(self) -> None:
        self.faults: Final[list[Fault]] = []
        self._groups: Final[dict[PythonModule, dict[str, list[Overload]]]] = {module: {} for module in MODULES}
        self._refused: Final[set[tuple[PythonModule, str]]] = set()

    def add(self, function: NativeFunction) -> None:
        """Adds an overload to its modules."""
        for module in _modules(function):
            name = function.name.name
            try:
                overload = Overload(function_signature(function, method=module is TENSOR_METHODS), function)
                check_overload(overload)
            except REFUSALS as refusal:
                self._refuse(module, name, refused(function, refusal))
            else:
                self._groups[module].setdefault(name, []).append(overload)

    def add_deprecated(self, one: DeprecatedSignature) -> None:
        """Adds a deprecated signature where its function has a binding."""
        for module in _modules(one.function):
            name = one.function.name.name
            group = self._groups[module].get(name)
            if group is None:
                continue
            category, method = one.function.category_override, module is TENSOR_METHODS
            try:
                signature = python_signature(
                    one.schema, category=category, method=method, passed=one.passed, place=one.place
                )
                overload = Overload(signature, one.function)
                check_overload(overload)
            except REFUSALS as refusal:
                self._refuse(module, name, refused(one.function, refusal, one.place))
            else:
                group.append(overload)

    def _refuse(self, module: PythonModule, name: str, fault: Fault) -> None:
        # What follows from the fault of another overload of the name would be gone with it.
        self._refused.add((module, name))
        self.faults.append(fault)

    def bindings(self, module: PythonModule) -> list[Binding]:
        """The bindings of a module, in the order in which their names first occur."""
        made = []
        for name, group in self._groups[module].items():
            if (module, name) not in self._refused:
                binding = Binding(group[0].function.name, module, tuple(group))
                try:
                    _ = binding.pairs
                except REFUSALS as refusal:
                    self.faults.append(refused(group[0].function, refusal))
                else:
                    made.append(binding)
        return made


@per_job
def _bindings(job: Job) -> _Bindings:
    collector = _Collector()
    for function in bound_functions(job):
        collector.add(function)
    for one in job.deprecated:
        collector.add_deprecated(one)
    return _Bindings({module: collector.bindings(module) for module in MODULES}, collector.faults)


def check_bindings(job: Job, sink: Diagnostics) -> None:
    """Reports what keeps functions from getting their binding."""
    for fault in _bindings(job).faults:
        sink.add(fault.diagnostic)
    for function in bound_functions(job):
        name = function.python_module
        if name is not None and name not in _BY_KEY:
            message = f"there is no Python module `{name}`, so `{function.name}` gets no binding"
            sink.warning(UNKNOWN_MODULE, message, function.entry, help=did_you_mean(name, _BY_KEY))


def bindings(job: Job, module: PythonModule) -> list[Binding]:
    """The functions of a module, or the methods, in the order in which their names first occur."""
    return _bindings(job).by_module[module]


def by_name(found: Iterable[Binding]) -> Sequence[Binding]:
    """The bindings sorted by their names."""
    return sorted(found, key=lambda one: one.name.name)
