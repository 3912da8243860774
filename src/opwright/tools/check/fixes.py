"""Fixes of diagnostics for which there is only one (code -> how to edit the YAML), and suggestions.

A fix is worked out from the place of a diagnostic after all checks, so that runs that only generate do not pay for it.
A suggestion is the nearest name in the help of a diagnostic: another one may have been meant.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Final, TypeAlias

from opwright.schema.fault import SchemaFault
from opwright.source.codes import SCHEMA_DIFFERS
from opwright.source.diagnostic import Diagnostic, Edit, Fault
from opwright.source.nodes import MappingNode, Node, Scalar, SequenceNode
from opwright.source.records import NamedTuple
from opwright.source.span import SourceText, Span
from opwright.source.yaml import load_yaml
from opwright.syntax.dispatcher_schemas import read_written_schema
from opwright.workspace.edits import Edits, added_field, deleted_field, deleted_item, find_path, quotation, replacement


class Place(NamedTuple):
    """Where a diagnostic is: it, and the nodes from the root of its file to the smallest that has its span."""

    diagnostic: Diagnostic
    path: list[Node]

    @property
    def node(self) -> Node:
        """Smallest node."""
        return self.path[-1]

    @property
    def parent(self) -> Node | None:
        """Node that contains the smallest one; None at the root."""
        return self.path[-2] if len(self.path) > 1 else None

    @property
    def entry(self) -> MappingNode | None:
        """Entry of an operator around the place."""
        entries = [node for node in self.path if isinstance(node, MappingNode) and node.entry("func") is not None]
        return entries[-1] if entries else None


Fix: TypeAlias = Callable[[Place], Edits]

_NONE: Final[Edits] = ()
_COLON: Final = re.compile(r"[ \t]*:([ \t]+(?=[\r\n]|\Z))?")


def _delete_repeated_key(place: Place) -> Edits:
    """Deletes a key that repeats an earlier one with the same value."""
    if not isinstance(place.parent, MappingNode) or not isinstance(place.node, Scalar):
        return _NONE
    return deleted_field(place.parent, place.node) if len(_values(place.parent)[place.node.value]) == 1 else _NONE


@lru_cache(maxsize=1)
def _values(mapping: MappingNode) -> dict[str, set[str]]:
    """Keys of a mapping with the texts of their values, kept because a mapping may repeat a hundred thousand keys."""
    values: dict[str, set[str]] = {}
    for key, value in mapping.entries:
        values.setdefault(key.value, set()).add(value.span.text)
    return values


def _delete_key(place: Place) -> Edits:
    """Deletes the field whose key the diagnostic marks."""
    if not isinstance(place.parent, MappingNode) or not isinstance(place.node, Scalar):
        return _NONE
    return deleted_field(place.parent, place.node)


def _delete_table(place: Place) -> Edits:
    """Deletes the dispatch table that the diagnostic marks."""
    entry = place.entry
    field = None if entry is None else entry.entry("dispatch")
    return _NONE if entry is None or field is None else deleted_field(entry, field[0])


def _delete_repeated_entry(place: Place) -> Edits:
    """Deletes an item of a list that repeats an earlier one to the letter."""
    for parent, item in zip(place.path[-2::-1], place.path[:0:-1], strict=False):
        if isinstance(parent, SequenceNode):
            return _NONE if _first_items(parent)[item.span.text] is item else deleted_item(parent, item)
    return _NONE


@lru_cache(maxsize=1)
def _first_items(sequence: SequenceNode) -> dict[str, Node]:
    """Texts of the items of a list with the first item of each, kept because a list may repeat thousands."""
    return {item.span.text: item for item in reversed(sequence.items)}


def _quote(place: Place) -> Edits:
    """Puts a value that YAML reads as another type than text into quotes, where only text can stand."""
    is_text_wanted = place.diagnostic.message.endswith(", not text") or any(
        label.text.startswith("expected a string") for label in place.diagnostic.labels
    )
    is_value = isinstance(place.node, Scalar) and place.node.kind not in ("str", "null")
    return quotation(place.node) if is_text_wanted and is_value else _NONE


def _indent_options(place: Place) -> Edits:
    """Moves the options of a backend entry under the name of its operator."""
    entry = place.parent
    if not isinstance(entry, MappingNode) or entry.file.text[entry.start : entry.start + 1] == "{":
        return _NONE
    file = entry.file
    first = file.line_and_column(entry.entries[1][0].start)[0]
    last = file.line_and_column(max(entry.entries[-1][0].end, entry.entries[-1][1].end) - 1)[0]
    starts = [file.line_starts[line - 1] for line in range(first, last + 1) if file.line_text(line).strip()]
    return tuple([Edit(file.span(start), "  ") for start in starts])


def _delete_colon(place: Place) -> Edits:
    """Makes a name of a mapping from a name to nothing."""
    entry = next((node for node in reversed(place.path) if isinstance(node, MappingNode)), None)
    if entry is None or len(entry.entries) != 1 or place.node is not entry.entries[0][0]:
        return _NONE
    name = entry.entries[0][0]
    # After `? name`, the next colon is that of another entry.
    colon = _COLON.match(entry.file.text, name.end)
    return _NONE if colon is None else (Edit(Span(entry.file, name.end, colon.end()), ""),)


def _write_as_today(place: Place) -> Edits:
    """Writes an entry of an earlier proposal as it is written now."""
    if isinstance(place.node, Scalar) and place.node.value == "ext_structured_meta":
        return replacement(place.node, "define_meta")
    return _indent_options(place)


def _set_field(field: str, value: str) -> Fix:
    def fix(place: Place) -> Edits:
        return _NONE if place.entry is None else added_field(place.entry, field, value)

    return fix


def _add_tag(tag: str) -> Fix:
    def fix(place: Place) -> Edits:
        entry = place.entry
        tags = None if entry is None else entry.get("tags")
        if entry is None or tags is None:
            return _NONE if entry is None else added_field(entry, "tags", tag)
        if isinstance(tags, Scalar):
            return replacement(tags, f"[{tags.span.text}, {tag}]") if tags.kind == "str" else _NONE
        if not isinstance(tags, SequenceNode) or not tags.items or tags.file.text[tags.start : tags.start + 1] != "[":
            return _NONE
        return (Edit(tags.file.span(tags.items[-1].end), f", {tag}"),)

    return fix


_NAMESPACE: Final = re.compile(r"^\w+::")
_SCHEMA_HELP: Final = re.compile(r"write `([^`]+)`")


def _schema_edit(diagnostic: Diagnostic) -> Edits:
    """Edit that writes the schema in the help of a diagnostic in place of the one that is marked."""
    match, span = _SCHEMA_HELP.fullmatch(str(diagnostic.help)), diagnostic.span
    if match is None or span is None or "\n" in span.text:
        return _NONE
    quote = span.text[0] if span.text[0] in "'\"" else ""
    return _NONE if quote and quote in match[1] else (Edit(span, f"{quote}{match[1]}{quote}"),)


def _respell_schema(place: Place) -> Edits:
    """Writes the schema of an operator where it is spelt otherwise. One that says something else is a suggestion."""
    edits = _schema_edit(place.diagnostic)
    schemas = [_NAMESPACE.sub("", text.strip("'\"")) for edit in edits for text in (edit.span.text, edit.text)]
    try:
        return edits if len({str(read_written_schema(schema)) for schema in schemas}) == 1 else _NONE
    except (Fault, SchemaFault):
        return _NONE


#: Code -> its fix. The codes are those of the dialects, whose pages say the same in words.
FIXES: Final[dict[str, Fix]] = {
    "E0107": _delete_repeated_key,
    "E0112": _quote,
    "E0316": _delete_table,
    "E0320": _set_field("variants", "function"),
    "E0332": _set_field("variants", "function"),
    "E0337": _add_tag("nondeterministic_seeded"),
    "E0338": _set_field("device_check", "NoCheck"),
    "E0345": _add_tag("inplace_view"),
    "E0404": _delete_repeated_entry,
    "E0410": _delete_repeated_entry,
    "E0434": _add_tag("view_copy"),
    "E0905": _respell_schema,
    "W1128": _add_tag("nondeterministic_seeded"),
    "E1309": _delete_repeated_entry,
    "E1311": _delete_colon,
    "W1309": _delete_repeated_entry,
    "W1334": _write_as_today,
    "W1348": _delete_key,
    "W1349": _delete_key,
}


def with_fixes(diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Diagnostics, those with a certain fix with the edits that make it."""
    trees: dict[SourceText, Node | None] = {}
    return [_with_fix(diagnostic, trees) for diagnostic in diagnostics]


def _with_fix(diagnostic: Diagnostic, trees: dict[SourceText, Node | None]) -> Diagnostic:
    span, fix = diagnostic.span, FIXES.get(diagnostic.code)
    if span is None or fix is None or diagnostic.edits:
        return diagnostic
    if span.file not in trees:
        try:
            trees[span.file] = load_yaml(span.file)
        except Fault:
            trees[span.file] = None
    root = trees[span.file]
    # A file with anchors has nodes that stand in several places.
    if root is None or span.file.has_anchors:
        return diagnostic
    return diagnostic._replace(edits=fix(Place(diagnostic, find_path(root, span))))


_SUGGESTION: Final = re.compile(r"did you mean `([^\s`]+)`\?")
_NAME: Final = re.compile(r"[\w.:]+")


def suggestion(diagnostic: Diagnostic) -> Edits:
    """Edit that puts the name which the help suggests in place of the one that is marked, where no fix is certain.

    Nothing larger than a name is replaced, apart from the schema of an operator that has another one.
    """
    if diagnostic.code == SCHEMA_DIFFERS and not diagnostic.edits:
        return _schema_edit(diagnostic)
    span = diagnostic.span
    match = None if diagnostic.edits or span is None else _SUGGESTION.search(str(diagnostic.help))
    if match is None or span is None or not _NAME.fullmatch(span.text):
        return _NONE
    return (Edit(span, match[1]),)


def with_suggestions(diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Diagnostics; suggestions are edits of those that have no certain fix."""
    return [diagnostic._replace(edits=diagnostic.edits or suggestion(diagnostic)) for diagnostic in diagnostics]
