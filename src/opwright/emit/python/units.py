"""Units of the bindings' files: the overloads of a Python function, by name."""

from __future__ import annotations

import re
from functools import cached_property
from typing import Final

from opwright.convention.python.bound import MODULES, TENSOR_METHODS, TORCH, PythonModule, is_bound
from opwright.convention.python.overloads import Overload, Pair, pair_overloads, sort_pairs
from opwright.convention.python.signature import function_signature, python_signature
from opwright.emit.emitter import Job, per_job
from opwright.emit.python.refusals import REFUSALS, check_overload, fault_of
from opwright.model.native_function import NativeFunction
from opwright.schema.names import OperatorName
from opwright.source.codes import UNKNOWN_MODULE
from opwright.source.diagnostic import Diagnostic, Diagnostics, FaultsFound, did_you_mean
from opwright.source.span import Span


class PythonBinding:
    """A Python function, or a method of tensors: its overloads, the deprecated ones last."""

    def __init__(self, name: OperatorName, module: PythonModule, overloads: tuple[Overload, ...]) -> None:
        self.name: Final = name
        self.module: Final = module
        self.overloads: Final = overloads

    @cached_property
    def pairs(self) -> list[Pair]:
        """What the parser's signatures call, in the order in which it tries them."""
        return sort_pairs(self.unsorted_pairs)

    @cached_property
    def unsorted_pairs(self) -> list[Pair]:
        """The pairs in the order of the overloads, which is what a run needs to check a binding.

        Raises Repeated or OutAlone, but not for a binding that `bindings` gives.
        """
        return pair_overloads(self.overloads)

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
        """Name of the C++ function."""
        return f"THPVariable_{self.name.name}"


@per_job
def bound_functions(job: Job) -> list[NativeFunction]:
    """Overloads that get a binding."""
    return [function for function in job.catalog.functions if is_bound(function)]


_BY_KEY: Final = {module.key: module for module in MODULES if module.key is not None}


def _modules(function: NativeFunction) -> list[PythonModule]:
    """Modules of an overload: that of its entry, else `torch` and the methods, according to its variants."""
    if function.python_module is not None:
        module = _BY_KEY.get(function.python_module)
        return [] if module is None else [module]
    modules = [TORCH] if function.function else []
    return [*modules, TENSOR_METHODS] if function.method else modules


@per_job
def _functions_by_module(job: Job) -> dict[PythonModule, list[NativeFunction]]:
    functions: dict[PythonModule, list[NativeFunction]] = {module: [] for module in MODULES}
    for function in bound_functions(job):
        for module in _modules(function):
            functions[module].append(function)
    return functions


def check_modules(job: Job, sink: Diagnostics) -> None:
    """Warn of functions in modules that do not exist."""
    for function in bound_functions(job):
        name = function.python_module
        if name is not None and name not in _BY_KEY:
            message = f"there is no Python module `{name}`, so `{function.name}` gets no binding"
            entry = function.entry
            value = re.search(rf"\bpython_module\s*:\s*({re.escape(name)})", entry.text) if entry is not None else None
            if entry is not None and value is not None:
                entry = Span(entry.file, entry.start + value.start(1), entry.start + value.end(1))
            sink.warning(UNKNOWN_MODULE, message, entry, help=did_you_mean(name, _BY_KEY))


def check_bindings(job: Job, sink: Diagnostics) -> None:
    """Report the functions that cannot get a binding."""
    for module in MODULES:
        try:
            bindings(job, module)
        except FaultsFound as faults:
            sink.take(faults)


@per_job
def bindings(job: Job, module: PythonModule) -> list[PythonBinding]:
    """Functions of a module, or the methods, in the order in which their names first occur.

    Raises FaultsFound with all reasons why one of them cannot be made.
    """
    faults: list[Diagnostic] = []
    refused: set[str] = set()
    groups: dict[str, list[Overload]] = {}

    def refuse(function: NativeFunction, refusal: Exception, span: Span | None = None) -> None:
        # What follows from the fault of another overload of the name would be gone with it.
        refused.add(function.name.name)
        faults.append(fault_of(function, refusal, span).diagnostic)

    for function in _functions_by_module(job)[module]:
        try:
            overload = Overload(function_signature(function, method=module is TENSOR_METHODS), function)
            check_overload(overload)
        except REFUSALS as refusal:
            refuse(function, refusal)
        else:
            groups.setdefault(function.name.name, []).append(overload)
    for deprecated in job.deprecated:
        function = deprecated.function
        if function.name.name not in groups or module not in _modules(function):
            continue
        try:
            signature = python_signature(
                deprecated.schema,
                category=function.category_override,
                method=module is TENSOR_METHODS,
                passed=deprecated.passed,
                span=deprecated.span,
            )
            overload = Overload(signature, function)
            check_overload(overload)
        except REFUSALS as refusal:
            refuse(function, refusal, deprecated.span)
        else:
            groups[function.name.name].append(overload)
    complete = []
    for name, group in groups.items():
        if name not in refused:
            binding = PythonBinding(group[0].function.name, module, tuple(group))
            try:
                _ = binding.unsorted_pairs
            except REFUSALS as refusal:
                refuse(group[0].function, refusal)
            else:
                complete.append(binding)
    if faults:
        raise FaultsFound(faults)
    return complete
