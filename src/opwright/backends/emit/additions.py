"""What plug-ins add to the wrappers of a section: all their functions are called here, once for each wrapper."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Final, TypeVar

from opwright.backends.backend_codes import NO_SELECTOR, SELECTION, UNTRANSLATABLE
from opwright.backends.derived_wrappers import passed_outs
from opwright.backends.emit.kernel_signatures import convention_named, signature_of
from opwright.backends.emit.section_file import SectionAdditions, SectionFile
from opwright.backends.extensions import PLACEHOLDER, EmitExtensions, KernelCandidate, WrapperArgument, WrapperFacts
from opwright.backends.external_backend import BackendEntry
from opwright.backends.hooks import HOOK_VALUES, Hook
from opwright.backends.kernel_calls import (
    KernelCallee,
    WrapperAdditions,
    converted_result,
    returns_arguments,
    translate_with,
)
from opwright.cpp.binding import Binding, Expression
from opwright.cpp.translation import AvailableValue, Untranslatable
from opwright.emit.aten.backend import Backend, KernelWrapper, WrappedUnit, WrapperKind
from opwright.emit.aten.register.registration import wrapper_of
from opwright.emit.emitter import Job
from opwright.model.native_function import NativeFunction
from opwright.schema.function import Argument
from opwright.source.diagnostic import Diagnostic, Fault, Label


def uncallable(callee: KernelCallee, wrapper: KernelWrapper, backend: Backend) -> Iterator[str]:
    """What a kernel wants and the wrapper cannot make, and a result from which it cannot make its own."""
    given: tuple[AvailableValue, ...] = wrapper.signature.bindings
    group = wrapper.function.group
    if wrapper.kind is WrapperKind.out and group is not None:
        given += passed_outs(wrapper.function, group, backend)
    for binding in callee.signature.bindings:
        try:
            translate_with(callee.conversions, given, (binding,))
        except Untranslatable:
            yield f"wants `{binding.type.text} {binding.role}` for `{wrapper.function.name}`, {_origin(binding, given)}"
    wanted = wrapper.signature.returns
    if wrapper.kind is WrapperKind.out or callee.signature.returns is wanted or returns_arguments(wanted):
        return
    try:
        converted_result("result", callee.signature.returns, wanted, callee.conversions)
    except Untranslatable:
        returned = callee.signature.returns.text
        yield f"returns `{returned}`, and no conversion makes the result `{wanted.text}` of `{wrapper.function.name}`"


def _origin(wanted: Binding, given: tuple[AvailableValue, ...]) -> str:
    types = [value.type.text for value in given if value.role == wanted.role]
    if not types:
        names = ", ".join([f"`{value.text if isinstance(value, Expression) else value.name}`" for value in given])
        return f"which has no argument `{wanted.role}`: there are {names}"
    return f"and no conversion makes it from the argument of type `{types[0]}`"


Returned = TypeVar("Returned")

#: The wrappers that call a kernel.
_CALLS_KERNEL: Final = (WrapperKind.kernel, WrapperKind.out)


def additions_of(units: Iterable[WrappedUnit], file: SectionFile, job: Job) -> SectionAdditions:
    """What plug-ins add to the wrappers of the units."""
    maker = _Maker(file, job)
    for _, kinds in units:
        for function, kind in kinds:
            if kind not in (WrapperKind.refusal, WrapperKind.functional):
                maker.add(function, kind)
    return SectionAdditions(maker.additions, tuple(maker.faults))


def wrapper_facts(wrapper: KernelWrapper, file: SectionFile, job: Job) -> WrapperFacts:
    """What plug-ins may know of a wrapper."""
    function, wrapping = wrapper.function, file.wrapping
    options = wrapping.entry_options(function)
    arguments = [
        WrapperArgument(binding.name, binding.type.text, binding.argument, binding.argument.type.is_tensor_like)
        for binding in wrapper.signature.bindings
        if isinstance(binding.argument, Argument)
    ]
    return WrapperFacts(
        name=f"{function.namespace}::{function.name.text}",
        namespace=function.namespace,
        operator=function.name.name,
        overload=function.name.overload,
        function=function,
        key=wrapping.key.name,
        display_name=wrapping.display_name,
        wrapper=wrapper.name,
        kind=options.implementation,
        is_structured=wrapper.kind is WrapperKind.structured,
        arguments=tuple(arguments),
        returns=wrapper.signature.returns.text,
        has_result=bool(function.schema.returns),
        values=options.values,
        head=file.backend.options.values,
        rules=job.rules,
    )


class PluginCalls:
    """Calls functions of plug-ins. One that fails is not called again, and its fault is kept."""

    def __init__(self) -> None:
        self.faults: Final[list[Diagnostic]] = []
        self.failed: Final[set[object]] = set()

    def result(self, owner: object, entry: BackendEntry | None, call: Callable[[], Returned]) -> Returned | None:
        """What a function returns; None after its first fault, which also shows for which entry it is."""
        if owner in self.failed:
            return None
        try:
            return call()
        except Fault as fault:
            self.failed.add(owner)
            diagnostic = fault.diagnostic
            if entry is not None:
                label = Label(entry.span, f"for `{entry.function.name}`", primary=diagnostic.span is None)
                diagnostic = diagnostic._replace(labels=(*diagnostic.labels, label))
            self.faults.append(diagnostic)
            return None


class _Maker(PluginCalls):
    """Makes the additions of a section's wrappers."""

    def __init__(self, file: SectionFile, job: Job) -> None:
        super().__init__()
        self.additions: Final[dict[NativeFunction, WrapperAdditions]] = {}
        self._file: Final = file
        self._job: Final = job

    def add(self, function: NativeFunction, kind: WrapperKind) -> None:
        """Make the additions of one wrapper."""
        wrapper = wrapper_of(function, kind, self._file.wrapping)
        entry = self._file.entry_of(function)
        facts = wrapper_facts(wrapper, self._file, self._job)
        includes: list[str] = []
        hooks = tuple(self._hooks(facts, entry, includes))
        callees: tuple[KernelCallee, ...] = ()
        selection = ""
        if kind in _CALLS_KERNEL and (entry.options.convention or entry.options.candidates):
            callees = tuple(self._callees(wrapper, entry, includes))
            if entry.options.candidates:
                selection = self._selection(facts, entry, includes)
        additions = WrapperAdditions(hooks, callees, selection, tuple(dict.fromkeys(includes)))
        if additions:
            self.additions[function] = additions

    def _hooks(self, facts: WrapperFacts, entry: BackendEntry, includes: list[str]) -> Iterator[Hook]:
        for extension in self._job.of(EmitExtensions).wrapper_hooks:
            hook = extension.value
            text = self.result(extension, entry, partial(hook.code, facts))
            if text is not None and text.strip():
                includes += hook.includes
                yield Hook(hook.position, text.strip("\n"))

    def _callees(self, wrapper: KernelWrapper, entry: BackendEntry, includes: list[str]) -> Iterator[KernelCallee]:
        """Kernels of an entry that the wrapper can call."""
        families = [candidate.family for candidate in entry.options.candidates] or [""]
        for family, variant in zip(families, entry.variants, strict=True):
            name = variant.options.convention
            convention = convention_named(name, self._job)
            if name and convention is None:
                continue
            signature = self.result(convention or name, entry, partial(signature_of, variant, self._job))
            if signature is None:
                continue
            if convention is None:
                yield KernelCallee(self._file.callee(variant), signature, family=family)
                continue
            callee = KernelCallee(self._file.callee(variant), signature, convention.value.conversions, family)
            problems = [*uncallable(callee, wrapper, self._file.wrapping)]
            for problem in problems:
                message = f"the convention `{name}` of plug-in `{convention.plugin}` {problem}"
                help = "add a `TypeConversion` to the convention"
                self.faults.append(Fault.at(UNTRANSLATABLE, message, entry.span, help=help).diagnostic)
            if not problems:
                includes += convention.value.includes
                yield callee

    def _selection(self, facts: WrapperFacts, entry: BackendEntry, includes: list[str]) -> str:
        """Statements that choose among the kernels of an entry; empty if no plug-in has any."""
        families = [candidate.family for candidate in entry.options.candidates]
        callees = map(self._file.callee, entry.variants)
        candidates = tuple([KernelCandidate(*candidate) for candidate in zip(families, callees, strict=True)])
        has_failed = False
        for extension in self._job.of(EmitExtensions).kernel_selectors:
            selector = extension.value
            text = self.result(extension, entry, partial(selector.select, facts, candidates))
            has_failed |= extension in self.failed
            if text is not None:
                includes += selector.includes
                problem = selection_problem(text, families)
                if not problem:
                    return text.strip("\n")
                message = f"selector `{selector.name}` of plug-in `{extension.plugin}` for `{facts.name}`: {problem}"
                self.faults.append(Fault.at(SELECTION, message, entry.span).diagnostic)
                return ""
        if not has_failed and entry not in self.failed:
            # Several wrappers may have the kernels of one entry.
            self.failed.add(entry)
            names = ", ".join([f"`{family}`" for family in families])
            message = f"no plug-in of the run chooses among the kernels of `{facts.name}`: {names}"
            help = "name a plug-in with a kernel selector, or write one family"
            self.faults.append(Fault.at(NO_SELECTOR, message, entry.span, help=help).diagnostic)
        return ""


def selection_problem(text: str, families: Sequence[str]) -> str:
    """What is wrong with the statements of a selector; empty if nothing is.

    >>> selection_problem("return {fats};", ["fast", "exact"])
    '`{fats}` is no family of the entry: there are `fast`, `exact`'
    """
    names = [match[1] for match in PLACEHOLDER.finditer(text)]
    values = {name for name in HOOK_VALUES if name not in ("call", "result")}
    for name in names:
        if name not in families and name not in values:
            there = ", ".join([f"`{family}`" for family in families])
            return f"`{{{name}}}` is no family of the entry: there are {there}"
    return "" if set(names) & set(families) else "the statements call none of the kernels"
