"""Chunk spans: which bytes of a file came from which unit, so that the next run can reuse them.

The text that one unit puts into one slot is its chunk. A file is the template's own text, the values of the file
slots, and in each slot that units fill their chunks in order. `assemble` joins the chunks of this run; `splice` takes
those of unchanged units out of the file that the previous build wrote.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterator, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Final, Protocol

from opwright.build.fingerprints import split_fingerprints
from opwright.build.template import AnyTemplate, TemplatePart
from opwright.source.named_tuple import NamedTuple

if TYPE_CHECKING:
    from opwright.emit.emitter import Slots

__all__ = ["ABSENT", "Chunks", "FileContents", "FileSpans", "SlotSpans", "assemble", "splice"]

ABSENT: Final = -1
"""The length of the chunk of a unit that puts nothing into a slot."""


class SlotSpans(NamedTuple):
    """The chunks of one slot: the offset of the first, the length of each, and the line breaks cut off at the end."""

    start: int
    lengths: bytes
    trimmed: int


class FileSpans(NamedTuple):
    """The fingerprints of a file's units, one after the other, and the slots that units fill in the template's order.

    `slots` is None if the file cannot be divided into chunks.
    """

    fingerprints: bytes
    slots: tuple[SlotSpans, ...] | None


class Chunks(Protocol):
    """What the units of a file put into its slots."""

    def chunks(self, slot: str, indent: str) -> Sequence[str | None]:
        """The chunk of each unit in a slot that has its lines to itself."""
        ...

    def chunk(self, slot: str, indent: str, number: int) -> str | None:
        """The chunk of the unit of a number."""
        ...

    def texts(self, slot: str) -> Sequence[str]:
        """The texts of all units in a slot, in order."""
        ...


class _FileWriter:
    """A file that grows part by part, and the spans of its chunks."""

    __slots__ = ("_parts", "_size", "_slots", "_template")

    def __init__(self, template: AnyTemplate) -> None:
        self._template = template
        self._parts: list[bytes] = []
        self._slots: list[SlotSpans] | None = []
        self._size = 0
        self.add(template.opening)

    def add(self, text: str) -> None:
        """Add text that belongs to no unit."""
        self._add(text.encode())

    def add_undivided(self, text: str) -> None:
        """Add text of units that cannot be told apart: the file then has no spans."""
        self._slots = None
        self.add(text)

    def _add(self, data: bytes) -> None:
        self._parts.append(data)
        self._size += len(data)

    def add_slot(self, lead: str | None, data: bytes, lengths: array[int]) -> None:
        """Add the chunks of a slot after the text that the file slots put there."""
        start = self._size
        separator = self._template.separator
        if lead is not None:
            after = separator if data or any(length >= 0 for length in lengths) else ""
            start += len(lead.encode()) + len(after)
            data = (lead + after).encode() + data
        trimmed = data.rstrip(b"\n") if separator else data
        if self._slots is not None:
            self._slots.append(SlotSpans(start, lengths.tobytes(), len(data) - len(trimmed)))
        self._add(trimmed)

    def finish(self, fingerprints: bytes) -> tuple[bytes, FileSpans]:
        """The bytes of the file and its spans."""
        data = b"".join(self._parts)
        if b'"""\n' in data:
            text = data.decode()
            changed = self._template.with_docstring_lines(text)
            if changed != text:
                return changed.encode(), FileSpans(fingerprints, None)
        return data, FileSpans(fingerprints, None if self._slots is None else tuple(self._slots))


def _size(chunk: str | None) -> int:
    if chunk is None:
        return ABSENT
    return len(chunk) if chunk.isascii() else len(chunk.encode())


class FileContents(NamedTuple):
    """What a file of many units is made from.

    `slots` are the file slots, `filled` the names of the slots that units fill, and `units` what these put there.
    """

    template: AnyTemplate
    slots: Slots
    filled: Collection[str]
    units: Chunks
    fingerprints: bytes


def assemble(contents: FileContents) -> tuple[bytes, FileSpans]:
    """The bytes of a file and its spans. Raises KeyError for a slot without a value."""
    template, slots, filled, units, fingerprints = contents
    writer = _FileWriter(template)
    for name, indent, before, after, rest in template.parts:
        if name not in filled:
            writer.add(template.filled_slot(slots[name], indent, before, after))
        elif indent is None:
            own = slots.get(name, ())
            texts = [*([own] if isinstance(own, str) and own else own), *units.texts(name)]
            writer.add_undivided(template.filled_slot(texts, None, before, after))
        else:
            chunks = units.chunks(name, indent)
            joined = template.separator.join([chunk for chunk in chunks if chunk is not None])
            lead = template.chunk(slots.get(name, ()), indent)
            writer.add_slot(lead, joined.encode(), array("i", map(_size, chunks)))
        writer.add(rest)
    return writer.finish(fingerprints)


def splice(contents: FileContents, old_spans: FileSpans, old: bytes) -> tuple[bytes, FileSpans] | None:
    """The same as `assemble`, with the chunks of unchanged units taken from the old file.

    None if the old file's spans do not fit the template, so that everything must be made again.
    """
    template, slots, filled, _, fingerprints = contents
    reuse = _Reuse(old_spans.fingerprints, fingerprints)
    old_slots = iter(old_spans.slots or ())
    writer = _FileWriter(template)
    for part in template.parts:
        if part.name in filled and part.indent is not None:
            slot = next(old_slots, None)
            region = None if slot is None else _splice_slot(contents, part, slot, old, reuse)
            if region is None:
                return None
            writer.add_slot(template.chunk(slots.get(part.name, ()), part.indent), *region)
        else:
            writer.add(template.filled_slot(slots[part.name], part.indent, part.before, part.after))
        writer.add(part.rest)
    return writer.finish(fingerprints)


class _Run(NamedTuple):
    """Units next to each other in the new file, and the number of the first of them in the old file, where they stand
    next to each other too. If `old_first` is None, it is one unit whose chunk is made anew."""

    first: int
    old_first: int | None
    length: int


class _Reuse:
    """Which chunks the new file takes from the old one: those of units whose fingerprint the old file has."""

    __slots__ = ("old_count", "runs")

    def __init__(self, old_fingerprints: bytes, fingerprints: bytes) -> None:
        old, new = split_fingerprints(old_fingerprints), split_fingerprints(fingerprints)
        self.old_count: Final = len(old)
        self.runs: Final = [_Run(0, 0, len(new))] if old == new else list(_runs(old, new))


def _runs(old: Sequence[bytes], new: Sequence[bytes]) -> Iterator[_Run]:
    """The units of the new file as the longest runs that can be copied at once."""
    numbers = {fingerprint: number for number, fingerprint in enumerate(old)}
    first = old_first = count = 0
    for number, fingerprint in enumerate(new):
        old_number = numbers.get(fingerprint)
        if old_number == old_first + count:
            count += 1
            continue
        if count:
            yield _Run(first, old_first, count)
        if old_number is None:
            yield _Run(number, None, 1)
            first, count = number + 1, 0
        else:
            first, old_first, count = number, old_number, 1
    if count:
        yield _Run(first, old_first, count)


def _splice_slot(
    contents: FileContents, part: TemplatePart, slot: SlotSpans, old: bytes, reuse: _Reuse
) -> tuple[bytes, array[int]] | None:
    """The chunks of a slot, joined, and the length of each; None if the spans do not fit the old file."""
    lengths = array("i")
    lengths.frombytes(slot.lengths)
    if len(lengths) != reuse.old_count:
        return None
    separator = contents.template.separator.encode()
    gap = len(separator)
    # The end of each unit's chunk, with the separator after it. A unit without a chunk adds nothing.
    ends = list(accumulate([length + gap if length >= 0 else 0 for length in lengths], initial=0))
    total = max(ends[-1] - gap, 0)
    # Line breaks are cut off at the end of the slot, which may reach back into the text before the first chunk.
    size = max(total - slot.trimmed, 0)
    data = old[slot.start : slot.start + size] + b"\n" * (total - size)
    if len(data) != total:
        return None
    parts: list[bytes] = []
    new_lengths = array("i")
    for first, old_first, length in reuse.runs:
        if old_first is None:
            chunk = contents.units.chunk(part.name, part.indent or "", first)
            new_lengths.append(_size(chunk))
            if chunk is not None:
                parts.append(chunk.encode())
            continue
        old_last = old_first + length
        new_lengths.extend(lengths[old_first:old_last])
        if ends[old_last] > ends[old_first]:
            parts.append(data[ends[old_first] : ends[old_last] - gap])
    return separator.join(parts), new_lengths
