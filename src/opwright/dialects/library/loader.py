"""Loads library files: the operators of each namespace, with a catalog of their own."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Sequence as Files
from collections.abc import Sequence as Row

from opwright.dialects.backend.values import Releases
from opwright.dialects.dialect import LoadContext
from opwright.dialects.extra_places import LIBRARY_ENTRY
from opwright.dialects.library.checks import check_entries, check_operators_are_new
from opwright.dialects.library.contracts import contract_overloads
from opwright.dialects.library.derivatives import NamedDerivatives, with_derivatives
from opwright.dialects.library.fields import READERS
from opwright.dialects.library.head import Head, read_head
from opwright.dialects.library.implementations import read_implementations
from opwright.dialects.library.namespaces import (
    NamespaceEntries,
    NamespaceFacts,
    entries_by_namespace,
    namespace_facts,
)
from opwright.dialects.library.saved import public_operators
from opwright.dialects.native_functions.entry_builder import EntryContext
from opwright.dialects.native_functions.loader import link_entries, load_entries
from opwright.dialects.native_functions.report import CrossReport
from opwright.dialects.table import TAGS
from opwright.dialects.tags import load_tags
from opwright.model.catalog import Catalog
from opwright.model.dispatch_key import LIBRARY_KEYS
from opwright.model.library import PYTORCH
from opwright.model.native_function import UnlinkedFunction
from opwright.model.operator_library import OperatorLibrary
from opwright.release.rules import Rules
from opwright.release.version_range import VersionRange
from opwright.schema.grammar import DISPATCHER
from opwright.source import codes
from opwright.source.diagnostic import Diagnostics, Fault, Severity
from opwright.source.named_tuple import NamedTuple
from opwright.source.nodes import Mapping, Node
from opwright.source.text import SourceFile
from opwright.source.yaml import load_yaml

__all__ = ["LibrarySource", "load", "load_sources"]


class LibrarySource(NamedTuple):
    """Entries of a library with the head above them, and the path of the file that they are in."""

    head: Head
    items: Row[Node]
    path: str


def load(files: Files[SourceFile], context: LoadContext) -> tuple[OperatorLibrary, ...]:
    """The operators of library files by namespace, in the order of the files. Faults go to the sink of the context."""
    own = Diagnostics()
    sources = []
    for file in files:
        try:
            sources.append(LibrarySource(*read_head(load_yaml(file), own), file.path))
        except Fault as fault:
            own.add(fault.diagnostic)
    _report_all(own, context)
    return load_sources(sources, context)


def load_sources(sources: Iterable[LibrarySource], context: LoadContext) -> tuple[OperatorLibrary, ...]:
    """The operators of sources by namespace, in the order of the sources. Faults go to the sink of the context."""
    own = Diagnostics()
    tags = load_tags(TAGS.files(context.inputs)[0], own)
    namespaces: dict[str, list[NamespaceEntries]] = {}
    named: list[NamedDerivatives] = []
    for source in sources:
        head = source.head
        _check_release(head, context.rules, own)
        by_namespace = entries_by_namespace(source.items, head, own)
        named.append(NamedDerivatives(head, source.path, tuple(by_namespace) or (head.namespace,)))
        for namespace, entries in by_namespace.items():
            namespaces.setdefault(namespace, []).append(NamespaceEntries(head, entries))
    facts = {name: namespace_facts(name, parts, own) for name, parts in namespaces.items()}
    _check_headers(facts.values(), own)
    libraries = [_load_namespace(facts[name], parts, tags, context, own) for name, parts in namespaces.items()]
    derived = with_derivatives(libraries, named, context._replace(sink=own))
    _report_all(own, context)
    return derived


def _report_all(own: Diagnostics, context: LoadContext) -> None:
    """Report faults to the sink of a run, warnings as errors if the run is strict."""
    context.sink.extend(
        diagnostic._replace(severity=Severity.ERROR)
        if context.strict and diagnostic.severity is Severity.WARNING
        else diagnostic
        for diagnostic in own
    )


def _check_release(head: Head, rules: Rules, sink: Diagnostics) -> None:
    """Report a library that is not for the release of the run."""
    if not head.torch.includes(rules.version):
        at = head.spans["torch"]
        message = f"the library is for PyTorch `{at.text}`, and this run is for {rules.version}"
        sink.error(
            codes.LIBRARY_TORCH_EXCLUDED, message, at, help="choose another release with `--torch` or `--release`"
        )


def _check_headers(namespaces: Iterable[NamespaceFacts], sink: Diagnostics) -> None:
    """Report namespaces whose headers would have the same names."""
    owners: dict[str, NamespaceFacts] = {}
    for facts in namespaces:
        owner = owners.setdefault(facts.library.api, facts)
        if owner is not facts:
            names = f"`{owner.namespace}` and `{facts.namespace}`"
            message = f"the namespaces {names} have the same C++ namespace `{owner.library.api}`"
            sink.error(codes.HEADS_DIFFER, message, facts.cpp_span or owner.cpp_span)


def _load_namespace(
    facts: NamespaceFacts,
    parts: list[NamespaceEntries],
    tags: dict[str, str],
    context: LoadContext,
    sink: Diagnostics,
) -> OperatorLibrary:
    library = facts.library
    own = Diagnostics()
    entries = [item for part in parts for item in part.items]
    report = CrossReport(own, [item for item in entries if isinstance(item, Mapping)])
    entry_context = EntryContext(
        frozenset(tags),
        frozenset(),
        own,
        library=library,
        readers=READERS,
        keys=LIBRARY_KEYS,
        extra_keys=context.extra_keys_at(LIBRARY_ENTRY),
        releases=Releases(context.rules.version, VersionRange(), own),
        grammar=DISPATCHER,
        kernel_namespace=facts.kernel_namespace,
        read_implementations=read_implementations,
    )
    functions: list[UnlinkedFunction] = load_entries(entries, entry_context, report)
    functions += [*contract_overloads(functions), *public_operators(functions)]
    linked = link_entries(functions, report, tag_by_kind=False)
    is_stable = facts.abi == "stable"
    check_entries(linked.functions, report, has_own_signatures=facts.has_own_signatures, is_stable=is_stable)
    if library.namespace == PYTORCH.namespace:
        check_operators_are_new(functions, context.inputs, report)
    sink.extend(own)
    catalog = Catalog(*linked, tuple(LIBRARY_KEYS.values()), tags, report.absent, is_sound=not own.has_errors)
    return OperatorLibrary(
        library,
        catalog,
        includes=facts.includes,
        python_package=facts.python_package,
        doc=facts.doc,
        abi=facts.abi,
        c_shims=facts.c_shims,
        oldest_release=facts.oldest_release,
        has_own_signatures=facts.has_own_signatures,
    )
