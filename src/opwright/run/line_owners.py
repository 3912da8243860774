"""Finds the overload that owns each generated line, if the unit of the line has several or none.

A unit of several overloads, such as all of `add` in `ops/add.h`, makes the lines of each in turn. Its fragment is
rendered again with each overload alone, and a line that only one of them makes belongs to it. Otherwise a line that
opens a definition, or a comment with the whole schema, names the owner of the lines after it. Lines of file slots name
their operator in the form that their emitter declares.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, TypeAlias

from opwright.convention import public_api
from opwright.emit.emitter import AnyEmitter, Job
from opwright.model.native_function import NativeFunction
from opwright.schema.names import OperatorName

__all__ = ["NOBODY", "FileSlotOwners", "Owners", "unit_owners"]

Owners: TypeAlias = tuple[object, ...]
"""The overloads, or the tag, that a line was made for; several if it was made for all of them together."""

NOBODY: Final[Owners] = ()

#: What stands before the definition that it belongs to.
_LEAD: Final = re.compile(r"namespace\b|template\b|struct\b|class\b|#|//|/\*|\[\[|case\b")
_CLOSER: Final = re.compile(r"[})\]]")
_WORD: Final = re.compile(r"\w+(?:\.\w+)*")
_INCLUDE: Final = re.compile(r"#include <ATen/ops/(\w+)\.h>")
_HEADER_ENDING: Final = re.compile(r"(.+)_(?:native|ops|meta|[a-z0-9]+_dispatch)")
_SCHEMA: Final = re.compile(r'"(\w+(?:\.\w+)?)\(.*->')
_REGISTERED: Final = re.compile(r'm\.impl\("(\w+(?:\.\w+)?)"')
_VERSION: Final = re.compile(r"_v\d+$")


def unit_owners(lines: Sequence[str], functions: Sequence[NativeFunction], alone: Mapping[str, Owners]) -> list[Owners]:
    """The owners of each line that a unit of these functions made. `alone` has the lines of each function alone."""
    everyone: Owners = tuple(functions)
    if len(functions) == 1:
        return [everyone] * len(lines)
    indents = [_indent(line) for line in lines if line.strip()]
    least = min(indents, default=0)
    owners: list[Owners] = []
    current, mark_indent, waiting, after_closer = everyone, -1, 0, False
    for line in lines:
        text = line.strip()
        indent = _indent(line)
        marked = (
            alone.get(text, NOBODY)
            if len(alone.get(text, NOBODY)) == 1
            else _marked_owner(text, functions, indent == least)
        )
        if marked:
            owners[len(owners) - waiting :] = [marked] * waiting
            current, mark_indent, waiting = marked, indent, 0
        elif (text and _LEAD.match(text) and (indent == least or text.startswith("case"))) or waiting:
            waiting += 1
            owners.append(everyone)
            continue
        elif (text and indent < mark_indent) or (text and indent == least and after_closer and not _CLOSER.match(text)):
            current, mark_indent = everyone, -1
        after_closer = bool(text) and _CLOSER.match(text) is not None and indent == least
        owners.append(current)
    return owners


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _marked_owner(text: str, functions: Iterable[NativeFunction], is_opening: bool) -> Owners:
    """The function that a line names: by its whole schema, or by its own name if the line opens a definition."""
    if "->" in text:
        named = [function for function in functions if str(function.schema) in text]
        if named:
            return (max(named, key=lambda function: len(str(function.schema))),)
    registered = _REGISTERED.match(text)
    if registered is not None:
        return tuple(function for function in functions if function.name.text == registered.group(1))
    if not is_opening or _CLOSER.match(text):
        return NOBODY
    likely = [function for function in functions if function.name.overload in text and function.name.name in text]
    words = _WORD.findall(text) if likely else []
    lengths = {function: max(likeness(word, function.name) for word in words) for function in likely} if words else {}
    longest = max(lengths.values(), default=0)
    named = [function for function, length in lengths.items() if length == longest] if longest else []
    return tuple(named) if len(named) == 1 else NOBODY


def likeness(word: str, name: OperatorName) -> int:
    """How many letters of a word name an overload: `add_Tensor`, `Tensor_add` and what ends so; 0 if it names none."""
    for spelling in (f"{name.overload}_{name.name}", name.unambiguous, name.text):
        if word == spelling or word.endswith(f"_{spelling}"):
            return len(spelling)
    return 0


class FileSlotOwners:
    """Finds the owners of lines that no unit made, by the names in them."""

    __slots__ = ("_by_name", "_by_overload", "_by_root", "_tags")

    def __init__(self, job: Job, tags: Mapping[str, object]) -> None:
        self._tags: Final = tags
        self._by_root: Final = {name: tuple(functions) for name, functions in job.by_root.items()}
        by_name: dict[str, list[NativeFunction]] = {}
        for function in job.catalog.functions:
            names = (
                function.name.text,
                function.name.name,
                function.name.unambiguous,
                public_api.name(function.schema),
            )
            for name in dict.fromkeys(names):
                by_name.setdefault(name, []).append(function)
        self._by_name: Final = by_name
        self._by_overload: Final = {function.name.unambiguous: function for function in job.catalog.functions}

    def complete(
        self, owners: list[Owners], lines: Sequence[str], template: frozenset[str], emitter: AnyEmitter
    ) -> None:
        """Fill in the owners of a file's lines that its units do not know. Lines of the template have no owner."""
        form = re.compile(emitter.line_names) if emitter.line_names else None
        block: Owners = NOBODY
        for number, line in enumerate(lines):
            text = line.strip()
            if owners[number] or not text:
                continue
            is_opening = not line[0].isspace() and not _CLOSER.match(text)
            if text in template:
                block = NOBODY if is_opening else block
                continue
            named = self._named_owners(text, form)
            if named:
                block = named if form is not None and form.match(text) else NOBODY
            elif is_opening:
                block = NOBODY
            owners[number] = named or block

    def _named_owners(self, text: str, form: re.Pattern[str] | None) -> Owners:
        include = _INCLUDE.match(text)
        if include is not None:
            return self._root(include.group(1))
        schema = _SCHEMA.search(text)
        if schema is not None and schema.group(1) in self._by_name:
            return tuple(self._by_name[schema.group(1)][:1])
        match = form.match(text) if form is not None else None
        if match is None:
            return NOBODY
        groups = match.groupdict()
        if groups.get("tag") in self._tags:
            return (self._tags[str(groups["tag"])],)
        overload = groups.get("overload") or ""
        for spelling in (overload, _VERSION.sub("", overload)):
            if spelling in self._by_overload:
                return (self._by_overload[spelling],)
        name = groups.get("operator") or ""
        return tuple(self._by_name.get(name, ())) or self._by_root.get(name, NOBODY)

    def _root(self, name: str) -> Owners:
        """The overloads whose headers are named so: `add.h`, `add_ops.h`, `add_cpu_dispatch.h`."""
        ending = _HEADER_ENDING.fullmatch(name)
        root = self._by_root.get(name, NOBODY)
        return root or (self._by_root.get(ending.group(1), NOBODY) if ending is not None else NOBODY)
