"""Namespaces of library files: the entries of each, and what the heads of the files say of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from opwright.libraries import library_codes
from opwright.libraries.dialect.head import (
    FRAMEWORKS,
    GLOBAL,
    IMPLEMENTS,
    Head,
    check_namespace,
    check_outermost_namespace,
)
from opwright.libraries.operator_library import BUILD_NAMESPACE, OperatorLibrary, Owner, library_names
from opwright.model.catalog import Catalog
from opwright.release.version import RELEASES
from opwright.schema.fault import SchemaFault
from opwright.schema.parser import read_namespace
from opwright.source.diagnostic import Diagnostics, Label, did_you_mean
from opwright.source.nodes import MappingNode, Node, Scalar
from opwright.source.records import NamedTuple
from opwright.source.span import Span
from opwright.syntax.dispatcher_schemas import DISPATCHER

#: The first release whose stable C++ API generated code uses.
_STABLE_SINCE: Final = (2, 10)


class NamespaceEntries(NamedTuple):
    """Entries of one namespace in one file, under the head of the file."""

    head: Head
    items: list[Node]


class NamespaceFacts(NamedTuple):
    """What the heads of all files say of a namespace: of a library without operators, which are in that of its owner.

    `cpp_span` is the place that names its C++ namespace, if any. `kernel_namespace` is that of kernels whose names have
    none; None stands for `native` in that of the library.
    """

    namespace: str
    library: OperatorLibrary
    cpp_span: Span | None
    kernel_namespace: str | None

    def of_owner(self) -> NamespaceFacts:
        """What is read of the library for its schemas alone."""
        library = self.library
        names = library.library._replace(defines_operators=False)
        return self._replace(library=library.replace(library=names, owner=Owner(self.namespace, "")))


def entries_by_namespace(items: Iterable[Node], head: Head, sink: Diagnostics) -> dict[str, list[Node]]:
    """Entries by namespace: the one that a schema names, otherwise the one of the head."""
    namespaces: dict[str, list[Node]] = {}
    entry_namespace = head.namespace
    for item in items:
        namespace, span = _namespace_of(item)
        if span is not None and namespace != entry_namespace and namespace not in namespaces:
            if not check_namespace(namespace, span, sink):
                continue
            _check_spelling(namespace, span, entry_namespace, sink)
        if namespace or entry_namespace:
            namespaces.setdefault(namespace or entry_namespace, []).append(item)
        elif "namespace" not in head.spans:
            help = "write `namespace: NAME` in the head"
            sink.error(library_codes.NO_NAMESPACE, "the operator is in no namespace", item.span, help=help)
    return namespaces


def _namespace_of(item: Node) -> tuple[str, Span | None]:
    """Namespace that an entry names, empty if it names none, with its span."""
    func = item.get("func") if isinstance(item, MappingNode) else None
    if not isinstance(func, Scalar):
        return "", None
    try:
        namespace = read_namespace(func.value, DISPATCHER)[0]
    except SchemaFault:
        # Loading the entry reports it.
        return "", None
    start = func.value.find(namespace)
    return (namespace, func.span_of(start, start + len(namespace))) if namespace else ("", None)


def _check_spelling(namespace: str, span: Span, spelling: str, sink: Diagnostics) -> None:
    """Warn of a namespace that is nearly that of the head."""
    help = str(did_you_mean(namespace, [spelling])) if spelling else ""
    if help:
        message = f"`{namespace}` is another namespace than `{spelling}`, which the head names"
        sink.warning(library_codes.NEAR_NAMESPACE, message, span, help=help)


def namespace_facts(
    namespace: str, parts: Sequence[NamespaceEntries], owner: Owner | None, sink: Diagnostics
) -> NamespaceFacts:
    """What the heads of the files with a namespace's entries say of it. Contradictions go to `sink`.

    `owner` defines the operators, if this library does not.
    """
    heads = [part.head for part in parts]
    namespace_heads = [head for head in heads if head.namespace == namespace]
    cpp_namespace, cpp_span = _common_value("cpp_namespace", namespace_heads, sink)
    if namespace != BUILD_NAMESPACE and not any("cpp_namespace" in head.spans for head in namespace_heads):
        at = next((head.spans["namespace"] for head in namespace_heads), None)
        check_outermost_namespace(namespace, at or _first_span(parts), sink)
    kernel_namespace, _ = _common_value("kernel_namespace", heads, sink)
    includes = tuple(dict.fromkeys([header for head in heads for header in head.includes]))
    signatures, at = _common_value("kernel_signatures", heads, sink)
    _common_value(IMPLEMENTS, heads, sink)
    for head in heads:
        if owner is not None and not head.implements:
            message = f"another file says that the operators of `{namespace}` are those of `{owner.namespace}`"
            help = "give one of the two files another namespace"
            sink.error(library_codes.HEADS_DIFFER, message, head.spans.get("namespace"), help=help)
    if signatures == "declared" and not includes:
        message = "no header declares the kernels"
        sink.error(library_codes.KERNEL_SIGNATURES, message, at, help="name the headers in `includes`")
    abi = _common_value("abi", heads, sink)[0] or "native"
    names = library_names(namespace, cpp_namespace)._replace(is_stable=abi != "native")
    package = _common_value("python_package", namespace_heads, sink)[0]
    if not package and namespace == BUILD_NAMESPACE:
        package = cpp_namespace.replace("::", ".")
    if owner is not None:
        names = names._replace(namespace=owner.namespace, defines_operators=False)
    frameworks = tuple(dict.fromkeys([framework for head in heads for framework in head.frameworks]))
    library = OperatorLibrary(
        names,
        Catalog((), (), (), (), {}),
        includes=includes,
        python_package=package or namespace,
        doc="\n\n".join([head.doc for head in namespace_heads if head.doc]),
        abi=abi,
        c_shims=tuple(dict.fromkeys([device for head in namespace_heads for device in head.c_shims])),
        oldest_release=oldest_release(heads),
        releases=_releases(heads),
        has_own_signatures=signatures == "declared",
        frameworks=(frameworks or tuple(FRAMEWORKS)) if abi == "dlpack" else (),
        owner=owner,
    )
    return NamespaceFacts(
        namespace, library, cpp_span, kernel_namespace.removeprefix(GLOBAL) if kernel_namespace else None
    )


def _first_span(parts: Iterable[NamespaceEntries]) -> Span | None:
    """Place where the first entry names its namespace."""
    return next((_namespace_of(item)[1] for part in parts for item in part.items), None)


def oldest_release(heads: Iterable[Head]) -> tuple[int, int]:
    """Oldest release with the stable C++ API in the ranges of the heads; the newest one if there is none."""
    stable = [release for release in _releases(heads) if release >= _STABLE_SINCE]
    return (stable or [RELEASES[-1].version[:2]])[0]


def _releases(heads: Iterable[Head]) -> tuple[tuple[int, int], ...]:
    """The known releases in the ranges of all heads, from the oldest one on, without their patch numbers."""
    ranges = [head.torch for head in heads]
    versions = [release.version for release in RELEASES]
    return tuple(dict.fromkeys([version[:2] for version in versions if all(each.includes(version) for each in ranges)]))


def _common_value(field: str, heads: Iterable[Head], sink: Diagnostics) -> tuple[str, Span | None]:
    """Value of a field that heads state, and its span; different values are a fault."""
    value, span = "", None
    for head in heads:
        stated = getattr(head, field)
        if stated and not value:
            value, span = stated, head.spans.get(field)
        elif stated and stated != value:
            also = () if span is None else (Label(span, "the other file", primary=False),)
            message = f"another file says that `{field}` of `{head.namespace}` is `{value}`"
            sink.error(library_codes.HEADS_DIFFER, message, head.spans.get(field), also=also)
    return value, span
