"""Where generated lines come from: the emitter of each file, and the entry of each range of lines.

A unit of several overloads, such as all of `add` in `ops/add.h`, makes the lines of each in turn. Its fragment is
rendered again with each overload alone, and a line that only one of them makes belongs to it. Otherwise a line that
opens a definition, or a comment with the whole schema, names the owner of the lines after it. Lines of file slots name
their operator in the form that their emitter declares.

Provenance is computed from the chunk spans of the run and the files on disk. `line_owners` tells the overloads of one
unit apart, and finds the owners of lines from file slots.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import accumulate, groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Final, TypeAlias

from opwright.convention import public_api
from opwright.emit.emitter import AnyEmitter, FilePerUnit, Job
from opwright.files.staging import STATE_FOLDER
from opwright.incremental.fingerprints import held_by, split_fingerprints
from opwright.incremental.patch import SlotSpans
from opwright.incremental.state import DAMAGE, manifest_paths, read_manifest
from opwright.model.derivatives import DifferentiabilityInfo, DifferentiableFunction, node_prefix
from opwright.model.native_function import NativeFunction, NativeFunctionsGroup, ViewGroup
from opwright.schema.names import OperatorName
from opwright.source.records import NamedTuple
from opwright.source.text import SourceFile

if TYPE_CHECKING:
    from opwright.incremental.emitter_files import EmitterFiles
    from opwright.incremental.previous_build import EmitterState
    from opwright.run.generation import Generation
    from opwright.run.output_writer import Outcome

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
    """Owners of each line that a unit of these functions made. `alone` has the lines of each function alone."""
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
    """Function that a line names: by its whole schema, or by its own name if the line opens a definition."""
    if "->" in text:
        named = [function for function in functions if str(function.schema) in text]
        if named:
            return (max(named, key=lambda function: len(str(function.schema))),)
    registered = _REGISTERED.match(text)
    if registered is not None:
        return tuple(function for function in functions if function.name.text == registered.group(1))
    if not is_opening or _CLOSER.match(text):
        return NOBODY
    has_node = "Backward" in text
    likely = [
        function
        for function in functions
        if (function.name.overload in text and function.name.name in text)
        or (has_node and node_prefix(function.name.name) in text)
    ]
    words = _WORD.findall(text) if likely else []
    lengths = {function: max(likeness(word, function.name) for word in words) for function in likely} if words else {}
    longest = max(lengths.values(), default=0)
    named = [function for function, length in lengths.items() if length == longest] if longest else []
    return tuple(named) if len(named) == 1 else NOBODY


def likeness(word: str, name: OperatorName) -> int:
    """How many letters of a word name an overload: `add_Tensor`, `Tensor_add` and what ends so; 0 if it names none.

    The nodes of an operation, such as `AddBackward0`, name its overloads.
    """
    for spelling in (f"{name.overload}_{name.name}", name.unambiguous, name.text):
        if word == spelling or word.endswith(f"_{spelling}"):
            return len(spelling)
    prefix = node_prefix(name.name)
    return len(prefix) if word.startswith(prefix) and word[len(prefix) : len(prefix) + 1].isdecimal() else 0


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
            text = "" if owners[number] else line.strip()
            if not text:
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
        """Overloads whose headers are named so: `add.h`, `add_ops.h`, `add_cpu_dispatch.h`."""
        ending = _HEADER_ENDING.fullmatch(name)
        root = self._by_root.get(name, NOBODY)
        return root or (self._by_root.get(ending.group(1), NOBODY) if ending is not None else NOBODY)


_MANY: Final = 4
"""A unit whose functions have more names than this is not about one operator; a view and its copies have three."""

_TAG: Final = re.compile(r"^- +tag: *(\w+)", re.MULTILINE)


class LineOrigin(NamedTuple):
    """A range of lines, first and last included, and the entry of the operator or tag that they were made from."""

    first: int
    last: int
    path: str
    line: int
    operator: str


class FileOrigin(NamedTuple):
    """Emitter of a file, and where its lines come from.

    Lines that several entries make together have an origin for each. Other lines may have none. Where two runs are
    compared, `text` has the lines but for those of units that both have, and their numbers are those in `text`.
    """

    emitter: str
    lines: tuple[LineOrigin, ...]
    text: Sequence[str] = ()


class MadeFiles(NamedTuple):
    """A run that has ended, and the contents of those of its files that another run made otherwise, by path."""

    generation: Generation
    outcome: Outcome
    contents: Mapping[str, bytes]


_Unit: TypeAlias = tuple[int, bool]
"""The number of a unit, and whether another run has an equal one."""


class _Tag(NamedTuple):
    """A tag and the line of its entry."""

    file: SourceFile
    line: int
    name: str


def origins(generation: Generation, outcome: Outcome) -> dict[str, FileOrigin]:
    """Origin of the lines of each output of a run that has ended, by its path."""
    return _origins(generation, outcome, None, {})


def origins_of_differences(old: MadeFiles, new: MadeFiles) -> tuple[dict[str, FileOrigin], dict[str, FileOrigin]]:
    """Origins of the lines of files that two runs made differently, but for those of units that both have."""
    same: dict[str, frozenset[bytes]] = {}
    for name, state in old.outcome.emitters.items():
        other = new.outcome.emitters.get(name)
        if other is not None and other.context == state.context:
            same[name] = _fingerprints(state) & _fingerprints(other)
    before, after = (_origins(*side, same) for side in (old, new))
    return before, after


def _fingerprints(state: EmitterState) -> frozenset[bytes]:
    return frozenset(part for spans in state.files.values() for part in split_fingerprints(spans.fingerprints))


def _origins(
    generation: Generation,
    outcome: Outcome,
    contents: Mapping[str, bytes] | None,
    same: Mapping[str, frozenset[bytes]],
) -> dict[str, FileOrigin]:
    """Origins of the lines of files with these contents by path, or of all, as they are on disk.

    `same` are the fingerprints of units that two runs have in common, by emitter.
    """
    job = generation.job
    file = generation.request.inputs.read_text("native/tags.yaml")
    tags = {
        match.group(1): _Tag(file, file.text.count("\n", 0, match.start()) + 1, match.group(1))
        for match in _TAG.finditer(file.text)
    }
    file_slot_owners = FileSlotOwners(job, tags)
    file_origins: dict[str, FileOrigin] = {}
    for emitter_files, planned_files in groupby(generation.planned_files(), key=itemgetter(1)):
        name, emitter = emitter_files.name, emitter_files.emitter
        files = _EmitterFiles(job, emitter_files, outcome.emitters.get(name), same.get(name, frozenset()))
        template = generation.template_text(emitter.template) if emitter.template is not None else ""
        own_lines = frozenset(line.strip() for line in template.split("\n"))
        for planned, _, spec in planned_files:
            target = planned.target
            if contents is not None and target not in contents:
                continue
            if contents is None:
                with open(target, "rb") as stream:
                    data = stream.read()
            else:
                data = contents[target]
            lines, owners = files.lines(spec.path, spec.units, data)
            file_slot_owners.complete(owners, lines, own_lines, emitter)
            file_origins[target] = FileOrigin(emitter.name, _line_origins(owners), () if contents is None else lines)
    return file_origins


class _EmitterFiles:
    """Units of an emitter, and which lines of its files they made. Units with `same` fingerprints are in two runs."""

    def __init__(self, job: Job, files: EmitterFiles, state: EmitterState | None, same: frozenset[bytes]) -> None:
        self._emitter: Final = files.emitter
        self._state: Final = state
        self._same: Final = same
        # Of a sharded family each chunk stands in two files.
        self._functions_of: Final[Callable[[int], tuple[NativeFunction, ...]]] = cache(
            lambda number: functions_of_unit(files.units[number])
        )
        alone_of: Callable[[int], Mapping[str, Owners]] = cache(
            lambda number: lines_alone(files.units[number], self._functions_of(number), files.emitter, job)
        )
        self._owners_within: Final[Callable[[int, tuple[str, ...]], Sequence[Owners]]] = cache(
            lambda number, lines: unit_owners(lines, self._functions_of(number), alone_of(number))
        )

    def lines(self, path: str, numbers: Sequence[int], data: bytes) -> tuple[Sequence[str], list[Owners]]:
        """Lines of a file without those of equal units, and the owners of each, as far as its units tell."""
        data, ranges = self._unit_lines(path, numbers, data)
        lines = data.decode("utf-8", "replace").split("\n")
        owners: list[Owners] = [NOBODY] * len(lines)
        if isinstance(self._emitter.layout, FilePerUnit):
            ranges = [(numbers[0], 0, len(lines))]
        for number, first, last in ranges:
            functions = self._functions_of(number)
            if len(functions) == 1:
                owners[first:last] = [functions] * (last - first)
            elif functions:
                owners[first:last] = self._owners_within(number, tuple(lines[first:last]))
        return lines, owners

    def _unit_lines(
        self, path: str, numbers: Sequence[int], data: bytes
    ) -> tuple[bytes, Sequence[tuple[int, int, int]]]:
        """A file without the chunks of equal units; the number of each other unit in each slot, and its lines."""
        spans = None if self._state is None else self._state.files.get(path)
        if spans is None or spans.slots is None:
            return data, ()
        units = [
            (number, part in self._same)
            for number, part in zip(numbers, split_fingerprints(spans.fingerprints), strict=True)
        ]
        gap = 0 if self._emitter.template is None else 1
        cut = _Cut(data)
        for slot in spans.slots:
            for (number, is_equal), start, end in _chunks(slot, units, gap):
                if not is_equal or not cut.leave_out(start, end):
                    cut.keep(number, start, end)
        return cut.text(), cut.ranges


def lines_alone(
    unit: object, functions: Sequence[NativeFunction], emitter: AnyEmitter, job: Job
) -> Mapping[str, Owners]:
    """Lines of a unit's fragment with each of its functions alone, and their owners."""
    owners: dict[str, Owners] = {}
    if len(functions) > 1 and isinstance(unit, tuple):
        for function in functions:
            for line in _lines_of_one(unit, function, emitter, job):
                owners[line] = (*owners.get(line, NOBODY), function)
    return owners


def _lines_of_one(unit: tuple[object, ...], function: NativeFunction, emitter: AnyEmitter, job: Job) -> set[str]:
    narrowed = _narrow(unit, function)
    if narrowed is None:
        return set()
    slots = emitter.fragment(narrowed, job)
    texts = [text for value in slots.values() for text in ((value,) if isinstance(value, str) else value)]
    return {line.strip() for text in texts for line in text.split("\n")}


def _narrow(unit: object, function: NativeFunction) -> object | None:
    """A unit with a function instead of all that it lists beside it; None where it does not list functions."""
    if not isinstance(unit, (tuple, list)):
        return None
    if all(isinstance(item, NativeFunction) for item in unit):
        return [item for item in unit if item is function]
    inner = [(number, _narrow(item, function)) for number, item in enumerate(unit) if isinstance(item, (tuple, list))]
    if len(inner) != 1 or inner[0][1] is None or type(unit) is not tuple:
        return None
    number, item = inner[0]
    return (*unit[:number], item, *unit[number + 1 :])


def _chunks(slot: SlotSpans, units: Sequence[_Unit], gap: int) -> Iterator[tuple[_Unit, int, int]]:
    """Units with a chunk in a slot, and where each begins and ends; chunks are `gap` line breaks apart."""
    lengths = slot.unit_lengths()
    ends = list(accumulate(length + gap if length >= 0 else 0 for length in lengths))
    stop = slot.start + ends[-1] - gap - slot.trimmed if ends else 0
    for unit, length, end in zip(units, lengths, ends, strict=True):
        start = slot.start + end - gap - length
        if length > 0 and start < stop:
            yield unit, start, min(start + length, stop)


class _Cut:
    """A file from which chunks are left out, one after the other, and the lines that are left of the others."""

    __slots__ = ("_counted", "_data", "_kept", "_line", "_position", "ranges")

    def __init__(self, data: bytes) -> None:
        self._data: Final = data
        self._kept: Final[list[bytes]] = []
        self._position = self._counted = self._line = 0
        self.ranges: Final[list[tuple[int, int, int]]] = []

    def leave_out(self, start: int, end: int) -> bool:
        """Leave out the lines of a chunk, if it begins one, and tell whether it does.

        What its last line has besides goes too. Blank lines at its end stay, as those of the last chunk are cut off.
        """
        end = self._data.find(b"\n", self._end_of_text(start, end)) + 1
        if not end or (start and self._data[start - 1 : start] != b"\n"):
            return False
        self._kept.append(self._data[self._position : start])
        self._count(start)
        self._position = self._counted = end
        return True

    def keep(self, number: int, start: int, end: int) -> None:
        """Keep the chunk of a unit, and note its lines."""
        self._count(start)
        lines = self._data.count(b"\n", start, self._end_of_text(start, end)) + 1
        self.ranges.append((number, self._line, self._line + lines))

    def _end_of_text(self, start: int, end: int) -> int:
        return start + len(self._data[start:end].rstrip(b"\n"))

    def text(self) -> bytes:
        """What is left of the file."""
        return b"".join([*self._kept, self._data[self._position :]])

    def _count(self, start: int) -> None:
        self._line += self._data.count(b"\n", self._counted, start)
        self._counted = start


def _line_origins(owners: Sequence[Owners]) -> tuple[LineOrigin, ...]:
    """Origins of ranges of lines."""
    origins: list[LineOrigin] = []
    first = 1
    for group, lines in groupby(owners):
        last = first + sum(1 for _ in lines) - 1
        origins += [LineOrigin(first, last, *origin) for origin in _entries(group)]
        first = last + 1
    return tuple(origins)


@cache
def _entries(owners: Owners) -> Sequence[tuple[str, int, str]]:
    """Path, line and name of each entry of some owners; a synthesized function counts for the entry it came from."""
    entries: dict[tuple[str, int], str] = {}
    for owner in sorted(owners, key=lambda owner: isinstance(owner, NativeFunction) and owner.is_synthesized):
        if isinstance(owner, NativeFunction):
            entry, name = (os.path.abspath(owner.entry.file.path), owner.entry.line), owner.name.text
        elif isinstance(owner, _Tag):
            entry, name = (os.path.abspath(owner.file.path), owner.line), owner.name
        else:
            continue
        entries.setdefault(entry, name)
    return [(path, line, name) for (path, line), name in entries.items()]


def functions_of_unit(unit: object) -> tuple[NativeFunction, ...]:
    """Functions that a unit is made of; none if it is not about one operator."""
    functions = tuple(dict.fromkeys(all_functions_of_unit(unit)))
    return () if len({function.root_name for function in functions}) > _MANY else functions


def all_functions_of_unit(unit: object) -> Iterator[NativeFunction]:
    """Functions that a unit is made of."""
    if isinstance(unit, NativeFunction):
        yield unit
    elif isinstance(unit, (NativeFunctionsGroup, ViewGroup)):
        yield from unit.functions()
    elif isinstance(unit, (DifferentiabilityInfo, DifferentiableFunction)):
        yield unit.function
    else:
        for part in held_by(unit):
            yield from all_functions_of_unit(part)


def provenance_names(folder: str) -> Iterator[str]:
    """Paths of provenance files below an output folder, as the manifests of its runs name them."""
    for path in manifest_paths(os.path.join(folder, STATE_FOLDER)):
        with contextlib.suppress(*DAMAGE):
            name = read_manifest(path)[0]["facts"].get("provenance")
            if isinstance(name, str):
                yield name
