"""The operators that a file can name, found in the texts of their entries, and loaded one operation at a time."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Final

from opwright.dialects.dialect import LoadContext
from opwright.dialects.native_functions.scope import LoadScope
from opwright.dialects.table import NATIVE_FUNCTIONS, TAGS
from opwright.dialects.tags import load_tags
from opwright.model.catalog import Catalog
from opwright.model.native_function import NativeFunction
from opwright.release.inputs import Inputs
from opwright.release.tree import rules_of
from opwright.source.diagnostic import Diagnostics, Fault, FaultsFound
from opwright.source.items import split_items
from opwright.source.records import NamedTuple
from opwright.source.span import SourceText, Span
from opwright.source.text import SourceFile

_ENTRY: Final = re.compile(r"(?m)^ *- *(?:func|name) *: *[\"']?((?:\w+::)?[\w.]+)(\([^\n#]*)?")
_AUTOGEN: Final = re.compile(r"(?m)^ *autogen *: *([^\n#]+)")


class OperatorEntry(NamedTuple):
    """An entry of a file: the operator's name, its place, the schema as far as it is in the line, and the entry."""

    name: str
    place: Span
    schema: str
    entry: Span


def plain_name(name: str) -> str:
    """The name of an operator without the namespace of PyTorch's own.

    >>> plain_name("aten::add.out"), plain_name("acme::scale")
    ('add.out', 'acme::scale')
    """
    return name.removeprefix("aten::")


@lru_cache(maxsize=8)
def entries_of(file: SourceText) -> tuple[OperatorEntry, ...]:
    """The entries of a file whose items are operators with their schemas.

    >>> [(entry.name, entry.schema) for entry in entries_of(SourceFile("x.yaml", "- func: f.out(Tensor a) -> ()"))]
    [('f.out', 'f.out(Tensor a) -> ()')]
    """
    matches = list(_ENTRY.finditer(file.text))
    ends = [match.start() for match in matches[1:]] + [len(file.text)] * bool(matches)
    return tuple(
        [
            OperatorEntry(
                plain_name(match[1]),
                file.span(match.start(1), match.end(1)),
                (match[1] + (match[2] or "")).rstrip().strip("\"'"),
                file.span(match.start(), end),
            )
            for match, end in zip(matches, ends, strict=True)
        ]
    )


def entry_at(file: SourceText, offset: int) -> OperatorEntry | None:
    """The entry that has an offset; the last one also has the end of the file."""
    entries = entries_of(file)
    index = bisect_right(entries, offset, key=lambda entry: entry.entry.start) - 1
    return entries[index] if index >= 0 else None


@lru_cache(maxsize=8)
def operator_entries(file: SourceFile) -> Mapping[str, OperatorEntry]:
    """The entries of a file by the names of operators; the names that an entry generates lead to it, too."""
    by_name: dict[str, OperatorEntry] = {}
    for entry in entries_of(file):
        by_name.setdefault(entry.name, entry)
    for entry in entries_of(file):
        match = _AUTOGEN.search(file.text, entry.entry.start, entry.entry.end)
        for name in match[1].split(",") if match is not None else ():
            by_name.setdefault(name.strip(), entry)
    return by_name


def load_operation(inputs: Inputs, name: str) -> list[NativeFunction]:
    """The overloads of an operator's operation, linked with their groups; none if it has no entry or does not load."""
    try:
        native = NATIVE_FUNCTIONS.files(inputs)[0]
        return list(_load(native, inputs, plain_name(name).partition(".")[0]))
    except (Fault, FaultsFound):
        return []


@lru_cache(maxsize=8)
def _load(native: SourceFile, inputs: Inputs, base: str) -> tuple[NativeFunction, ...]:
    items = split_items(native.text)
    if items and not LoadScope([base]).choose(items):
        return ()
    return tuple(load_in_scope(native, inputs, [base], Diagnostics()).functions)


def load_in_scope(native: SourceFile, inputs: Inputs, names: Iterable[str], sink: Diagnostics) -> Catalog:
    """The catalog of the operations that texts name, from a file among the inputs; faults go to the sink.

    A file that cannot be split is loaded whole. Raises Fault and FaultsFound.
    """
    items = LoadScope(names).items(native)
    entries = {} if items is None else {NATIVE_FUNCTIONS.name: items}
    catalog = NATIVE_FUNCTIONS.load_inputs(LoadContext(sink, rules_of(inputs), inputs, chosen_items=entries))
    assert catalog is not None, "the file was read"
    return catalog


def tag_texts(inputs: Inputs) -> Mapping[str, str]:
    """The tags of a PyTorch with their descriptions on one line; none if their file cannot be read."""
    try:
        return _tag_texts(TAGS.files(inputs)[0])
    except Fault:
        return {}


@lru_cache(maxsize=4)
def _tag_texts(file: SourceFile) -> Mapping[str, str]:
    return {tag: " ".join(text.split()) for tag, text in load_tags(file, Diagnostics()).items()}
