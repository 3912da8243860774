"""Reads the entries of a section: operators with the options that say how the backend implements them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from opwright.dialects.backend.entry_builder import BackendEntryBuilder, SectionContext
from opwright.dialects.backend.entry_checks import check_entry
from opwright.dialects.backend.entry_fields import LASTING_FIELDS, READERS
from opwright.dialects.backend.entry_kernels import kernel_of
from opwright.dialects.backend.head import OWN_HELP
from opwright.dialects.backend.values import RELEASE_FIELDS, check_overlaps
from opwright.dialects.dialect import LoadContext
from opwright.dialects.extra_places import BACKEND_ENTRY
from opwright.model.external_backend import BackendEntry
from opwright.model.native_function import NativeFunction
from opwright.release.version_range import ReleaseSpan
from opwright.source import codes
from opwright.source.diagnostic import Label, did_you_mean
from opwright.source.expect import check_unique_keys
from opwright.source.named_tuple import NamedTuple
from opwright.source.nodes import Mapping, Node, Scalar
from opwright.source.span import Span

if TYPE_CHECKING:
    from opwright.dialects.extra_key_reader import ExtraKeys

__all__ = ["EntryNode", "load_entries", "refused_entry", "split_entry"]

#: The options of earlier proposals, with what they are called now.
_RENAMED: Final = {"ext_structured_meta": "define_meta"}
_RELEASE_NAMES: Final = tuple([field.name for field in RELEASE_FIELDS])
_LASTING_NAMES: Final = tuple([field.name for field in LASTING_FIELDS])


class EntryNode(NamedTuple):
    """An entry as nodes: the name of its operator, and its options, None if it is a name alone."""

    name: Scalar
    options: Mapping | None = None


def refused_entry(name: Scalar) -> Mapping:
    """The entry of an operator that the head of a file refuses: what its author would write in a section."""
    file, start, end = name.file, name.start, name.end
    option = (Scalar(file, start, end, "fallback"), Scalar(file, start, end, "error"))
    return Mapping(file, start, end, [(name, Mapping(file, start, end, [option]))])


def load_entries(items: Iterable[Node], section: SectionContext) -> tuple[BackendEntry, ...]:
    """The entries of a section that the release has; those with faults are left out."""
    nodes = [node for item in items if (node := split_entry(item, section.load)) is not None]
    entries: dict[NativeFunction, BackendEntry] = {}
    for node in _nodes_of_release(nodes, section):
        entry = _load_entry(node, section)
        if entry is None:
            continue
        if entry.function in entries:
            _report_repeated(entries[entry.function], entry, section.load)
        entries.setdefault(entry.function, entry)
    return tuple(entries.values())


def _nodes_of_release(nodes: list[EntryNode], section: SectionContext) -> list[EntryNode]:
    """The entries that the release of the run has. Entries of one operator for the same releases go to the sink."""
    if all(node.options is None for node in nodes):
        return nodes
    chosen, places = [], defaultdict[str, list[tuple[ReleaseSpan, Span]]](list)
    for node in nodes:
        fields = {} if node.options is None else {key.value: value for key, value in node.options.entries}
        releases = section.head.releases.span({name: fields[name] for name in _RELEASE_NAMES if name in fields})
        if releases is None:
            continue
        places[node.name.value].append((releases, node.name.span))
        if releases.includes(section.head.releases.version):
            chosen.append(node)
    repeated = set()
    for name, spans in places.items():
        if any(releases != ReleaseSpan() for releases, _ in spans):
            check_overlaps(spans, f"entries of `{name}`", section.load.sink)
            repeated.add(name)
    # Entries of all releases that repeat each other are reported as such.
    first = {node.name.value: node for node in reversed(chosen)}
    return [node for node in chosen if node.name.value not in repeated or first[node.name.value] is node]


def split_entry(item: Node, context: LoadContext) -> EntryNode | None:
    """The name and the options of an entry. Other shapes go to the sink."""
    if isinstance(item, Scalar) and item.kind == "str":
        return EntryNode(item)
    if not isinstance(item, Mapping) or not item.entries:
        message = f"the entry is {item.description}, not the name of an operator"
        is_plain = isinstance(item, Scalar) and item.kind != "null"
        help = f'write `"{item.span.text}"` if it is a name' if is_plain else ""
        context.sink.error(codes.BACKEND_ENTRY_SHAPE, message, item.span, help=help)
        return None
    name, options = item.entries[0]
    if context.tolerant:
        message = "PyTorch's generator takes names of operators alone"
        context.sink.error(codes.OWN_DIALECT, message, item.span, help=OWN_HELP)
    elif len(item.entries) > 1:
        _report_several_keys(item, context)
    elif not isinstance(options, Mapping):
        message = f"the options of `{name.value}` are {options.description}, not a mapping"
        help = f"write `- {name.value}`" if isinstance(options, Scalar) and options.kind == "null" else ""
        context.sink.error(
            codes.BACKEND_ENTRY_SHAPE, message, options.span if options.span.text else name.span, help=help
        )
    else:
        check_unique_keys(options, context.sink)
        return EntryNode(name, options)
    return None


def _report_several_keys(item: Mapping, context: LoadContext) -> None:
    sink = context.sink
    name, value = item.entries[0]
    extra_keys = context.extra_keys_at(BACKEND_ENTRY)
    options = {*READERS, *_RENAMED, *_LASTING_NAMES, *(() if extra_keys is None else extra_keys.names)}
    if isinstance(value, Scalar) and value.kind == "null" and item.entries[1][0].value in options:
        message = f"`{item.entries[1][0].value}` is beside `{name.value}`, not one of its options"
        help = "indent the options under the name of the operator"
        sink.error(codes.FLAT_ENTRY, message, item.entries[1][0].span, help=help)
    else:
        message = f"the entry is a mapping with {len(item.entries)} keys, not with the name of an operator alone"
        sink.error(codes.BACKEND_ENTRY_SHAPE, message, item.entries[1][0].span)


def _load_entry(node: EntryNode, section: SectionContext) -> BackendEntry | None:
    """The entry; None if it has a fault."""
    function = section.operators.find(node.name)
    if function is None:
        return None
    entry = BackendEntryBuilder(node.name, function, section)
    extra_keys = section.extra_keys or ()
    for key, value in () if node.options is None else node.options.entries:
        entry.keys[key.value] = key
        if key.value in READERS:
            _read_option(key.value, value, entry)
        elif key.value not in _LASTING_NAMES and key.value not in extra_keys:
            _report_option(key, entry)
    if section.extra_keys is not None:
        _read_extra_keys(node, section.extra_keys, entry)
    check_entry(entry)
    if entry.failed:
        return None
    kernel = kernel_of(entry)
    return BackendEntry(function, kernel, node.name.span, entry.options)


def _read_option(name: str, node: Node, entry: BackendEntryBuilder) -> None:
    value = entry.section.head.releases.value(node, name)
    if value is not None:
        READERS[name](value, entry)


def _read_extra_keys(node: EntryNode, extra_keys: ExtraKeys, entry: BackendEntryBuilder) -> None:
    options = () if node.options is None else node.options.entries
    values = extra_keys.read(options, node.name.span, entry.section.head.releases)
    if values is None:
        entry.failed = True
    else:
        entry.options = entry.options._replace(values=values)


def _report_option(key: Scalar, entry: BackendEntryBuilder) -> None:
    new_name = _RENAMED.get(key.value)
    extra_keys = entry.section.extra_keys
    options = [*READERS, *_LASTING_NAMES, *(() if extra_keys is None else extra_keys.names)]
    help = did_you_mean(key.value, options) if new_name is None else f"write `{new_name}`"
    entry.fault(codes.UNKNOWN_OPTION, f"unknown option `{key.value}`", key.span, help=help)


def _report_repeated(first: BackendEntry, again: BackendEntry, context: LoadContext) -> None:
    also = [Label(first.span, "first here", primary=False)]
    message = f"`{again.function.name}` is in the section twice"
    if context.tolerant:
        context.sink.warning(codes.BACKEND_REPEATED_ENTRY_WARNING, message, again.span, also=also)
    else:
        context.sink.error(codes.BACKEND_REPEATED_ENTRY, message, again.span, also=also)
