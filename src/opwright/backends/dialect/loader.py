"""Loads backend files into external backends."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from opwright.backends import backend_codes
from opwright.backends.dialect.entries import load_entries, refused_entry
from opwright.backends.dialect.entry_fields import SectionContext
from opwright.backends.dialect.head import is_own_dialect, read_head
from opwright.backends.dialect.head_checks import (
    check_derived_overloads,
    check_empty,
    check_groups,
    check_hooks,
    check_kernels,
    check_manual,
    check_names,
    check_symint,
    check_unwritten,
)
from opwright.backends.dialect.head_fields import HeadBuilder
from opwright.backends.dialect.inherited import InheritedKernels, inherited_kernel, shared_kernel
from opwright.backends.dialect.operators import OperatorIndex
from opwright.backends.dialect.sections import DENSE, SECTIONS, SectionKind, section_key
from opwright.backends.dialect.tolerated import has_operators
from opwright.backends.external_backend import BackendEntry, BackendSection, ExternalBackend
from opwright.backends.hooks import Implementation
from opwright.backends.rows import BACKEND
from opwright.backends.wrapper_options import EntryOptions, Fallback
from opwright.dialects.dialect import LoadContext
from opwright.dialects.field import BACKEND_ENTRY, OPERATORS
from opwright.dialects.nearest_key import suggested_key
from opwright.model.dispatch_key import CPU, KEYS, UNDEFINED, DispatchKey, key_named
from opwright.model.native_function import NativeFunction
from opwright.source.diagnostic import Fault
from opwright.source.nodes import Node
from opwright.source.text import SourceFile
from opwright.source.yaml import load_yaml

if TYPE_CHECKING:
    from opwright.libraries.operator_library import OperatorLibrary


def load(files: Sequence[SourceFile], context: LoadContext) -> tuple[ExternalBackend, ...]:
    """Backends of the files, in their order. Faults go to the sink of the context."""
    heads: dict[str, HeadBuilder] = {}
    for file in files:
        try:
            heads[file.path] = read_head(load_yaml(file), context)
        except Fault as fault:
            context.sink.add(fault.diagnostic)
    libraries: dict[str, tuple[OperatorLibrary, ...]] = {}
    has_own = any(head.library_files or head.root.get(OPERATORS) is not None for head in heads.values())
    if has_own and not context.tolerant:
        # Few files have any, and loading them needs many modules, which the dialect of library files has.
        libraries = BACKEND.module("own_operators").load_own_operators(heads, context)
    backends = [_load_backend(head, path, libraries.get(path, ()), context) for path, head in heads.items()]
    return tuple([backend for backend in backends if backend is not None])


def _load_backend(
    head: HeadBuilder, path: str, libraries: tuple[OperatorLibrary, ...], context: LoadContext
) -> ExternalBackend | None:
    """Backend of a file; None if nothing is written for it, or if it has no dispatch key that exists."""
    own_names = [f"{function.namespace}::{function.name}" for library in libraries for function in library.catalog]
    # Programs in the reference's place know PyTorch's operators alone.
    foreign = {} if context.tolerant else BACKEND.module("foreign_operators").load_foreign_operators(head, context)
    operators = OperatorIndex(context, foreign, own_names)
    if context.tolerant and not has_operators(head.root):
        check_unwritten(head, context)
        kind = SECTIONS["autograd"]
        load_entries(head.sections.get(kind.name, ()), SectionContext(kind, UNDEFINED, head, context, operators))
        return None
    key = _backend_key(head, context)
    manual = frozenset([function for name in head.manual if (function := operators.find(name)) is not None])
    extra_keys = context.extra_keys_at(BACKEND_ENTRY)
    sections = []
    for kind in SECTIONS.values():
        items = _items(kind, head)
        is_served = kind.name in {*head.options.fallback_sections, *[rule.section for rule in head.inherited]}
        if kind is DENSE or items or is_served:
            section = SectionContext(kind, _section_key(kind, key, head), head, context, operators, manual, extra_keys)
            entries = load_entries(items, section)
            entries += _inherited_entries(section, entries)
            entries += _fallback_entries(section, entries)
            sections.append(BackendSection(kind.name, section.key, entries, head.key_span(kind.name)))
    check_symint(head, context)
    check_groups(sections, head, context)
    derives_from_out = is_own_dialect(head)
    if head.out_is_primary and derives_from_out and head.options.derived_overloads:
        check_derived_overloads(sections[0], context.sink)
    if not context.tolerant:
        check_kernels(sections, context.sink)
        has_own = derives_from_out and (libraries or head.options.fallback is not Fallback.none)
        has_entries = derives_from_out and any(section.entries for section in sections)
        check_empty(head, is_written=bool(has_own or has_entries or has_operators(head.root)))
    check_manual(sections, head, context.sink)
    check_names(head, context)
    check_hooks(head, sections, own_names if head.root.get(OPERATORS) is not None else ())
    if key is None:
        return None
    if head.root.get(OPERATORS) is not None:
        libraries = BACKEND.module("own_operators").with_wrappers(libraries, head, key)
    return ExternalBackend(
        key,
        tuple(sections),
        cpp_namespace=head.cpp_namespace,
        class_name=head.class_name,
        display_name=head.display_name,
        out_is_primary=head.out_is_primary,
        device_guard=head.device_guard,
        path=path,
        libraries=libraries,
        conventions=head.conventions,
        options=head.options._replace(manual=manual, derives_from_out=derives_from_out),
    )


def _items(kind: SectionKind, head: HeadBuilder) -> list[Node]:
    """Entries of a section. The first dense one has those of all."""
    if kind is DENSE:
        dense = [item for other in SECTIONS.values() if other.is_dense for item in head.sections.get(other.name, ())]
        return [*dense, *map(refused_entry, head.refused)]
    return [] if kind.is_dense else head.sections.get(kind.name, [])


def _section_key(kind: SectionKind, key: DispatchKey | None, head: HeadBuilder) -> DispatchKey:
    """Dispatch key of a section; after a mistake in that of the backend, one that stands in for it."""
    if key is None:
        return UNDEFINED
    try:
        return section_key(kind, key, head.span("backend"))
    except Fault as fault:
        head.sink.add(fault.diagnostic)
        return UNDEFINED


def _backend_key(head: HeadBuilder, context: LoadContext) -> DispatchKey | None:
    """Dispatch key of the backend, None if there is no such key."""
    key = KEYS.get(head.backend)
    if key is None and head.backend:
        help = suggested_key(head.backend, KEYS, "write `PrivateUse1`")
        message = f"there is no dispatch key `{head.backend}`"
        context.sink.error(backend_codes.UNKNOWN_BACKEND, message, head.span("backend"), help=help)
    if key is not None and key.name not in head.root.file.text:
        # A run that loads some operators has all with kernels for the keys that stand in the text of the file.
        context.operators.require_all()
    if key is not None and context.operators.kernels.get(key):
        message = f"PyTorch itself has kernels for `{key}`"
        context.sink.error(
            backend_codes.BACKEND_IN_USE,
            message,
            head.span("backend"),
            help="write `PrivateUse1` if the kernels are outside PyTorch; those in its tree need no backend file",
        )
    return key


def _inherited_entries(section: SectionContext, entries: Sequence[BackendEntry]) -> tuple[BackendEntry, ...]:
    """Entries that the rules of the file add to those of a section. Rules without effect go to the sink."""
    rules = [rule for rule in section.head.inherited if rule.section == section.kind.name]
    if not rules:
        return ()
    owned = _owned(entries, section)
    added: dict[NativeFunction, BackendEntry] = {}
    for rule in rules:
        functions = [function for function in section.operators.functions if rule.matches(function.name.text)]
        for function in functions:
            entry = None if function in added else _inherited_entry(function, rule, section)
            if entry is not None and owned.isdisjoint(_overloads_of(entry)):
                added[function] = entry
        if not any(entry.span is rule.span for entry in added.values()):
            _report_unused(rule, has_operators=bool(functions), section=section)
    return tuple(added.values())


def _owned(entries: Iterable[BackendEntry], section: SectionContext) -> set[NativeFunction]:
    """Overloads that entries of a section implement, or that the author registers."""
    return {function for entry in entries for function in _overloads_of(entry)}.union(section.manual)


def _overloads_of(entry: BackendEntry) -> list[NativeFunction]:
    """Overloads that an entry implements."""
    group = entry.function.group
    is_whole = group is not None and entry.options.implementation.is_structured
    return group.functions() if group is not None and is_whole else [entry.function]


def _inherited_entry(function: NativeFunction, rule: InheritedKernels, section: SectionContext) -> BackendEntry | None:
    """Entry by which an operator inherits a kernel; None if it cannot.

    A kernel for dense tensors would take the place of a composite one. Those of other sections are there beside it.
    """
    kernel, _ = inherited_kernel(function, rule.source, section.kind)
    replaces_composite = function.has_composite_implicit and section.kind.is_dense
    if kernel is None or replaces_composite or function.manual_kernel_registration:
        return None
    if not kernel.structured:
        prefix, implementation = "", Implementation.inherited
    elif section.head.out_is_primary and section.kind.is_dense and shared_kernel(function) is not None:
        # The wrappers of the whole group then run the structured kernel that all devices share.
        prefix, implementation = "structured_", Implementation.stub
    else:
        return None
    callee = f"{kernel.namespace}::{prefix}{kernel.name}"
    options = EntryOptions(implementation, callee, values=section.head.options.entry_values)
    return BackendEntry(function, kernel.replace(key=section.key), rule.span, options)


def _fallback_entries(section: SectionContext, entries: Sequence[BackendEntry]) -> tuple[BackendEntry, ...]:
    """Entries of operators that fall back though PyTorch has composite kernels for them.

    The CPU has kernels that are only for tensors such as those of the section, which composite kernels do not know.
    """
    kind, head = section.kind, section.head
    if kind.name not in head.options.fallback_sections:
        return ()
    key, options = key_named(f"{kind.prefix}{CPU.name}"), EntryOptions(Implementation.fallback)
    owned, span = _owned(entries, section), head.span("fallback")
    return tuple(
        [
            BackendEntry(function, function.kernels[key].replace(key=section.key), span, options)
            for function in section.operators.functions
            if key in function.kernels and function not in owned and not function.is_view
        ]
    )


def _report_unused(rule: InheritedKernels, *, has_operators: bool, section: SectionContext) -> None:
    if has_operators:
        message = f"PyTorch has no kernel to inherit for the operators of `{rule.pattern}` without an entry"
    else:
        message = f"no operator has a name like `{rule.pattern}`"
    section.load.sink.warning(
        backend_codes.NO_EFFECT, message, rule.span, help="delete the rule, or give it `since` or `until`"
    )
