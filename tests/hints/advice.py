"""Follows the help line of a diagnostic in the text of its file, if the line says exactly what to write or delete."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Final

from opwright.source.diagnostic import Diagnostic, Edit, Fault
from opwright.source.nodes import MappingNode, Node, Scalar, SequenceNode
from opwright.source.span import Span
from opwright.source.text import SourceFile
from opwright.source.yaml import load_yaml
from opwright.workspace.edits import added_field, apply_edits, deleted_field, deleted_item, find_path

__all__ = ["followed"]


def followed(diagnostic: Diagnostic) -> str | None:
    """The text of the diagnostic's file after its advice; None if a program cannot follow it."""
    span = diagnostic.span
    if span is None:
        return None
    if diagnostic.edits:
        return _edited(span, diagnostic.edits)
    for pattern, follow in _FORMS:
        match = pattern.fullmatch(str(diagnostic.help))
        if match is not None:
            return follow(span, *match.groups())
    return None


def _edited(span: Span, edits: Iterable[Edit]) -> str | None:
    edits = tuple(edits)
    return apply_edits(span.file.text, edits) if edits else None


def _replace(span: Span, new: str) -> str | None:
    """Write a text in the place of the span, inside its quotes if it has some."""
    old = span.text
    if new.startswith("- ") and span.file.text[: span.start].endswith("- ? "):
        # An item that is an explicit key.
        span = Span(span.file, span.start - len("- ? "), span.end)
    if old[:1] in ("'", '"') and old[:1] == old[-1:] and new[:1] != old[:1]:
        new = f"{old[:1]}{new}{old[:1]}"
    return _edited(span, [Edit(span, new)])


def _write(span: Span, new: str) -> str | None:
    """Write a field, an argument of the entry's schema, or a text in the place of the span."""
    field = re.fullmatch(r"([\w.]+): (.*)", new)
    argument = re.fullmatch(r"[A-Z][\w()!?\[\]]* (\w+)", new)
    if field is not None:
        return _write_field(span, field[1], field[2])
    if argument is not None and argument[1] not in span.text.split():
        return _write_argument(span, argument[1], new)
    return _replace(span, new)


def _write_field(span: Span, key: str, value: str) -> str | None:
    """Set a field of the smallest mapping that has it; else write it in place of the field at the span, or add it."""
    path = _path(span)
    mappings = [node for node in path if isinstance(node, MappingNode)]
    mapping = next((mapping for mapping in reversed(mappings) if mapping.entry(key) is not None), None)
    if mapping is not None:
        own = mapping.entry(key)
        assert own is not None
        return _edited(span, [Edit(own[1].span, value)])
    for name, node in mappings[-1].entries if mappings else ():
        if name is path[-1]:
            return _edited(span, [Edit(Span(node.file, name.start, node.end), f"{key}: {value}")])
    return _add(span, f"{key}: {value}")


def _write_argument(span: Span, name: str, new: str) -> str | None:
    """Write an argument of the schema of the entry around the span."""
    entry = _entry(span)
    func = None if entry is None else entry.get("func")
    if func is None:
        return None
    match = re.search(rf"[A-Z]\w*(?:\([^)]*\))?[?\[\]\d]* {name}\b(?:=[^,)]*)?", func.span.text)
    if match is None:
        return None
    start = func.start + match.start()
    return _edited(span, [Edit(Span(func.file, start, start + len(match[0])), new)])


def _write_in_place(span: Span, new: str, old: str) -> str | None:
    """Write a text in place of another one, at the span or in the entry around it."""
    entry = _entry(span)
    place = span if old in span.text or entry is None else entry.span
    return _edited(span, [Edit(place, re.sub(rf"\b{re.escape(old)}\b", new, place.text))])


def _underline(span: Span, name: str) -> str | None:
    """Give a name in the span a low line at its end."""
    return _replace(span, re.sub(rf"\b{name}$", f"{name}_", span.text))


def _insert(span: Span, new: str) -> str | None:
    """Write a text before the span."""
    return _edited(span, [Edit(Span(span.file, span.start, span.start), new)])


def _write_out(span: Span, new: str, result: str) -> str | None:
    """Write an argument in the place of the span, and what the schema of that line returns."""
    line = span.file.text[span.end :].partition("\n")[0]
    start = span.end + line.rindex("-> ") + 3
    end = span.end + len(line)
    return _edited(span, [Edit(span, new), Edit(Span(span.file, start, end), result)])


def _add(span: Span, new: str) -> str | None:
    """Add a field to the entry around the span, or to the smallest mapping."""
    mapping = _entry(span)
    if mapping is None:
        return None
    key, _, value = new.partition(": ")
    return _edited(span, added_field(mapping, key, value))


def _set_kernel(span: Span, key: str, kernel: str) -> str | None:
    """Make a kernel the only one of the entry around the span."""
    return _write_field_of_entry(span, "dispatch", f"{{{key}: {kernel}}}")


def _add_kernel(span: Span, key: str, kernel: str) -> str | None:
    """Add a kernel to the entry around the span."""
    entry = _entry(span)
    dispatch = None if entry is None else entry.get("dispatch")
    return _edited(span, added_field(dispatch, key, kernel)) if isinstance(dispatch, MappingNode) else None


def _write_field_of_entry(span: Span, field: str, value: str) -> str | None:
    entry = _entry(span)
    node = None if entry is None else entry.get(field)
    return None if node is None else _edited(span, [Edit(node.span, value)])


def _rename(span: Span, name: str) -> str | None:
    """Give the operator of the entry around the span another name."""
    entry = _entry(span)
    func = None if entry is None else entry.get("func")
    return (
        None
        if func is None
        else _edited(span, [Edit(Span(func.file, func.start, func.start + func.span.text.index("(")), name)])
    )


def _delete_field(span: Span, name: str) -> str | None:
    """Delete a field of the smallest mapping that has it, or of its only field the mapping."""
    for node in reversed(_path(span)):
        entry = node.entry(name) if isinstance(node, MappingNode) else None
        if isinstance(node, MappingNode) and entry is not None:
            return _edited(span, deleted_field(node, entry[0]))
    return None


def _delete(span: Span) -> str | None:
    """Delete the field or the item of a list that the span is."""
    path = _path(span)
    for parent, node in [(path[depth - 1], path[depth]) for depth in range(len(path) - 1, 0, -1)]:
        if (
            isinstance(parent, MappingNode)
            and isinstance(node, Scalar)
            and any(key is node for key, _ in parent.entries)
        ):
            return _edited(span, deleted_field(parent, node))
        if isinstance(parent, SequenceNode):
            return _edited(span, deleted_item(parent, node))
    return None


def _quote(span: Span) -> str | None:
    """Put the value that begins at the span in quotes: in block style it ends with the line."""
    text = span.file.text
    line_start = text.rfind("\n", 0, span.start) + 1
    lead = re.compile(r"[- ]*(?:\w+: +)?").match(text, line_start)
    start = lead.end() if lead is not None and lead.end() <= span.start else span.start
    key = text.find(": ", span.end) if start == span.start else -1
    line = text.find("\n", span.start) % (len(text) + 1)
    end = max(span.end, line if key < 0 or key > line else key)
    return _edited(span, [Edit(Span(span.file, start, end), f"'{text[start:end]}'")])


def _path(span: Span) -> list[Node]:
    """The nodes around the span; none if the file cannot be read."""
    try:
        return find_path(load_yaml(SourceFile(span.file.path, span.file.text)), span)
    except Fault:
        return []


def _entry(span: Span) -> MappingNode | None:
    """The entry of an operator around the span, else the smallest mapping."""
    mappings = [node for node in _path(span) if isinstance(node, MappingNode)]
    entries = [mapping for mapping in mappings if mapping.entry("func") is not None]
    return next(reversed(entries or mappings), None)


_QUOTED: Final = r"`((?:[^`]|``)+)`"

#: The forms of advice that a program can follow, and what follows them.
_FORMS: Final[tuple[tuple[re.Pattern[str], Callable[..., str | None]], ...]] = tuple(
    (re.compile(pattern), follow)
    for pattern, follow in (
        (rf"did you mean {_QUOTED}\?", _write),
        (rf"write {_QUOTED}", _write),
        (rf"write for instance {_QUOTED}", _replace),
        (rf"write it like {_QUOTED}", _replace),
        (rf"write a bound, such as {_QUOTED}", _replace),
        (rf"write {_QUOTED} if it is a name", _replace),
        (rf"write {_QUOTED} if the first output is the only differentiable one", _replace),
        (rf"write {_QUOTED} alone", _replace),
        (rf"write {_QUOTED}, and choose in the kernel", _replace),
        (rf"write {_QUOTED}, with a blank", _replace),
        (rf"write {_QUOTED}: a kernel is named, not called", _replace),
        (rf"write a list: {_QUOTED}", _replace),
        (r"write `(\w+)_`, or another name", _underline),
        (r"close the list of arguments with `\)`", lambda span: _insert(span, ")")),
        (rf"write {_QUOTED}, which gives (?:a symbolic integer|symbolic integers)", _replace),
        (rf"write {_QUOTED}, or omit the field", _write),
        (rf"write {_QUOTED}, or `[^`]+`", _write),
        (rf"return {_QUOTED}", _replace),
        (rf"write {_QUOTED}, and return {_QUOTED}", _write_out),
        (rf"write {_QUOTED} in place of {_QUOTED}", _write_in_place),
        (r"delete its `(dispatch)`: .*", _delete_field),
        (rf"write {_QUOTED} with quotes if it is text", _replace),
        (r"call it: `(\w+)\(\.\.\.\)`", lambda span, name: _replace(span, f"{name}(self)")),
        (rf"write the others to out arguments, or return {_QUOTED} alone", _replace),
        (rf"add {_QUOTED}", _add),
        (r"name it under the key that needs no tensor: `(\w+): (\w+)`", _set_kernel),
        (r"add `(\w+): (\w+)` to its `dispatch`", _add_kernel),
        (rf"call it {_QUOTED} if it works in place", _rename),
        (rf"(?:delete|remove) {_QUOTED}", _delete_field),
        (r"delete it(?:, or .*)?", _delete),
        (r"delete this entry", _delete),
        (r"put (?:it|the value|the key) in quotes(?: if it is .*)?", _quote),
    )
)
