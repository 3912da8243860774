"""Reads the entries of a section: operators with the options that say how the backend implements them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from opwright.dialects.backend import codes
from opwright.dialects.backend.entry_builder import BackendEntryBuilder, SectionContext
from opwright.dialects.backend.entry_checks import check_entry
from opwright.dialects.backend.entry_fields import READERS
from opwright.dialects.backend.entry_kernels import kernel_of
from opwright.dialects.backend.head import OWN_HELP
from opwright.dialects.dialect import LoadContext
from opwright.model.catalog import Catalog
from opwright.model.external_backend import BackendEntry
from opwright.model.native_function import NativeFunction
from opwright.release.version import Version, parse_version
from opwright.release.version_range import ReleaseSpan
from opwright.source.diagnostic import Diagnostics, Fault, Label, Suggestion, did_you_mean
from opwright.source.expect import check_unique_keys
from opwright.source.nodes import Mapping, Node, Scalar

__all__ = ["EntryNode", "find_operator", "load_entries", "split_entry"]

#: A release, of which patch numbers do not count.
_RELEASE = re.compile(r"[0-9]{1,3}\.[0-9]{1,3}(?:\.[0-9]{1,3})?")
#: The options of earlier proposals, with what they are called now.
_RENAMED = {"ext_structured_meta": "define_meta"}


class EntryNode(NamedTuple):
    """An entry as nodes: the name of its operator, and its options, None if it is a name alone."""

    name: Scalar
    options: Mapping | None = None


def load_entries(items: Iterable[Node], section: SectionContext) -> tuple[BackendEntry, ...]:
    """The entries of a section that the release has; those with faults are left out."""
    entries: dict[NativeFunction, BackendEntry] = {}
    for item in items:
        node = split_entry(item, section.load)
        entry = None if node is None else _load_entry(node, section)
        if entry is None:
            continue
        if entry.function in entries:
            _report_repeated(entries[entry.function], entry, section.load)
        entries.setdefault(entry.function, entry)
    return tuple(entries.values())


def split_entry(item: Node, context: LoadContext) -> EntryNode | None:
    """The name and the options of an entry. Other shapes go to the sink."""
    if isinstance(item, Scalar) and item.kind == "str":
        return EntryNode(item)
    if not isinstance(item, Mapping) or not item.entries:
        message = f"the entry is {item.description}, not the name of an operator"
        is_plain = isinstance(item, Scalar) and item.kind != "null"
        help = f'write `"{item.span.text}"` if it is a name' if is_plain else ""
        context.sink.error(codes.ENTRY_SHAPE, message, item.span, help=help)
        return None
    name, options = item.entries[0]
    if context.tolerant:
        message = "PyTorch's generator takes names of operators alone"
        context.sink.error(codes.OWN_DIALECT, message, item.span, help=OWN_HELP)
    elif len(item.entries) > 1:
        _report_several_keys(item, context.sink)
    elif not isinstance(options, Mapping):
        message = f"the options of `{name.value}` are {options.description}, not a mapping"
        help = f"write `- {name.value}`" if isinstance(options, Scalar) and options.kind == "null" else ""
        context.sink.error(codes.ENTRY_SHAPE, message, options.span if options.span.text else name.span, help=help)
    else:
        check_unique_keys(options, context.sink)
        return EntryNode(name, options)
    return None


def _report_several_keys(item: Mapping, sink: Diagnostics) -> None:
    name, value = item.entries[0]
    if isinstance(value, Scalar) and value.kind == "null" and item.entries[1][0].value in {*READERS, *_RENAMED}:
        message = f"`{item.entries[1][0].value}` is beside `{name.value}`, not one of its options"
        help = "indent the options under the name of the operator"
        sink.error(codes.FLAT_ENTRY, message, item.entries[1][0].span, help=help)
    else:
        message = f"the entry is a mapping with {len(item.entries)} keys, not with the name of an operator alone"
        sink.error(codes.ENTRY_SHAPE, message, item.entries[1][0].span)


def _load_entry(node: EntryNode, section: SectionContext) -> BackendEntry | None:
    """The entry; None if it has a fault, or if the release does not have it."""
    options = [] if node.options is None else node.options.entries
    span = release_span({key.value: value for key, value in options}, section)
    if span is None or not span.includes(section.load.rules.version):
        return None
    function = find_operator(node.name, section.load)
    if function is None:
        return None
    entry = BackendEntryBuilder(node.name, function, section)
    for key, value in options:
        entry.keys[key.value] = key
        if key.value in READERS:
            READERS[key.value](value, entry)
        else:
            _report_option(key, entry)
    check_entry(entry)
    if entry.failed:
        return None
    return BackendEntry(function, kernel_of(entry), node.name.span, entry.options)


def _report_option(key: Scalar, entry: BackendEntryBuilder) -> None:
    new_name = _RENAMED.get(key.value)
    help = did_you_mean(key.value, READERS) if new_name is None else f"write `{new_name}`"
    entry.fault(codes.UNKNOWN_OPTION, f"unknown option `{key.value}`", key.span, help=help)


def release_span(fields: dict[str, Node], section: SectionContext) -> ReleaseSpan | None:
    """The releases that `since` and `until` allow; None, with a diagnostic, if they are no releases."""
    sink = section.load.sink
    try:
        span = ReleaseSpan(_release(fields.get("since")), _release(fields.get("until")))
    except Fault as fault:
        sink.add(fault.diagnostic)
        return None
    if span.is_empty:
        message = f"no release is from {fields['since'].span.text} on and before {fields['until'].span.text}"
        sink.error(codes.RELEASE, message, fields["until"].span, help="`until` is the first release without the entry")
        return None
    return span


def _release(node: Node | None) -> Version | None:
    """The release that a node names; None without a node. Raises Fault for what is no release."""
    if node is None:
        return None
    if isinstance(node, Scalar) and _RELEASE.fullmatch(node.value):
        return parse_version(node.value)
    raise Fault.at(codes.RELEASE, f"{node.description} is not a release", node.span, help="write it like `2.11`")


def find_operator(name: Scalar, context: LoadContext) -> NativeFunction | None:
    """The operator of a name. Unknown ones go to the sink, unless the entry of the operator has a fault."""
    catalog = context.operators
    if name.value in catalog and "::" not in name.value:
        return catalog[name.value]
    if not catalog.may_lack(name.value):
        message = f"there is no operator `{name.value}`"
        context.sink.error(codes.UNKNOWN_OPERATOR, message, name.span, help=_name_help(name.value, catalog))
    return None


def _name_help(name: str, catalog: Catalog) -> str | Suggestion:
    """The operators that a wrong name may stand for."""
    bare = name.partition("(")[0].removeprefix("aten::").removesuffix(".")
    if bare != name and bare in catalog:
        return f"write `{bare}`"
    names = [function.name.text for function in catalog.functions]
    overloads = [f"`{own}`" for own in names if own.startswith(f"{name}.")]
    return f"write one of its overloads: {', '.join(overloads)}" if overloads else did_you_mean(name, names)


def _report_repeated(first: BackendEntry, again: BackendEntry, context: LoadContext) -> None:
    also = [Label(first.span, "first here", primary=False)]
    message = f"`{again.function.name}` is in the section twice"
    if context.tolerant:
        context.sink.warning(codes.REPEATED_ENTRY_WARNING, message, again.span, also=also)
    else:
        context.sink.error(codes.REPEATED_ENTRY, message, again.span, also=also)
