"""Makes the entries of operators that inherit PyTorch's kernels by a rule."""

from __future__ import annotations

from collections.abc import Sequence

from opwright.dialects.backend.entry_builder import SectionContext, inherited_kernel, shared_kernel
from opwright.dialects.backend.inherited import InheritedKernels
from opwright.model.external_backend import BackendEntry, EntryOptions, Implementation
from opwright.model.native_function import Kernel, NativeFunction
from opwright.source import codes

_STRUCTURED = (Implementation.structured, Implementation.stub)


def inherited_entries(section: SectionContext, entries: Sequence[BackendEntry]) -> list[BackendEntry]:
    """Entries that the rules of the file add to those of a section. Rules without effect go to the sink."""
    rules = [rule for rule in section.head.inherited if rule.section == section.kind.name]
    if not rules:
        return []
    owned = {function for entry in entries for function in _overloads_of(entry)}.union(section.manual)
    added: dict[NativeFunction, BackendEntry] = {}
    for rule in rules:
        functions = [function for function in section.operators.functions if rule.matches(function.name.text)]
        for function in functions:
            entry = None if function in added else _inherited_entry(function, rule, section)
            if entry is not None and owned.isdisjoint(_overloads_of(entry)):
                added[function] = entry
        if not any(entry.span is rule.span for entry in added.values()):
            _report_unused(rule, has_operators=bool(functions), section=section)
    return list(added.values())


def _overloads_of(entry: BackendEntry) -> list[NativeFunction]:
    """Overloads that an entry implements."""
    group = entry.function.group
    is_whole = group is not None and entry.options.implementation in _STRUCTURED
    return group.functions() if group is not None and is_whole else [entry.function]


def _inherited_entry(function: NativeFunction, rule: InheritedKernels, section: SectionContext) -> BackendEntry | None:
    """Entry by which an operator inherits a kernel; None if it cannot."""
    kernel, _ = inherited_kernel(function, rule.source, section.kind)
    if kernel is None or function.has_composite_implicit or function.manual_kernel_registration:
        return None
    if not kernel.structured:
        callee, implementation = f"{kernel.namespace}::{kernel.name}", Implementation.inherited
    elif section.head.out_is_primary and section.kind.is_dense and shared_kernel(function) is not None:
        # The wrappers of the whole group then run the structured kernel that all devices share.
        callee, implementation = f"{kernel.namespace}::structured_{kernel.name}", Implementation.stub
    else:
        return None
    values = section.head.options.entry_values
    options = EntryOptions(implementation, callee, values=values)
    own_kernel = Kernel(section.key, kernel.name, kernel.namespace, kernel.structured)
    return BackendEntry(function, own_kernel, rule.span, options)


def _report_unused(rule: InheritedKernels, *, has_operators: bool, section: SectionContext) -> None:
    if has_operators:
        message = f"PyTorch has no kernel to inherit for the operators of `{rule.pattern}` without an entry"
    else:
        message = f"no operator has a name like `{rule.pattern}`"
    section.load.sink.warning(
        codes.NO_EFFECT, message, rule.span, help="delete the rule, or give it `since` or `until`"
    )
