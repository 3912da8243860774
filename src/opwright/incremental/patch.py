"""Chunk spans: which bytes of a file came from which unit, so that the next run can reuse them.

The text that one unit puts into one slot is its chunk. A file is the template's text, the values of the file
slots, and in each slot that units fill their chunks in order. `assemble` joins the chunks of this run; `patch` takes
those of unchanged units out of the file that the previous build wrote.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Final, Protocol

from opwright.emit.emitter import Slots
from opwright.files.template import Template, TemplatePart
from opwright.incremental.fingerprints import FINGERPRINT_SIZE, split_fingerprints
from opwright.source.records import NamedTuple

ABSENT: Final = -1
"""The length of the chunk of a unit that puts nothing into a slot."""


class SlotSpans(NamedTuple):
    """Chunks of one slot: the offset of the first, the length of each, and the line breaks cut off at the end."""

    start: int
    lengths: bytes
    trimmed: int

    def unit_lengths(self) -> array[int]:
        """Length of each unit's chunk."""
        lengths = array("i")
        lengths.frombytes(self.lengths)
        return lengths


class FileSpans(NamedTuple):
    """Fingerprints of a file's units, one after the other, and the slots that units fill in the template's order.

    `slots` is None if the file cannot be divided into chunks.
    """

    fingerprints: bytes
    slots: tuple[SlotSpans, ...] | None


class RenderedFile(NamedTuple):
    """Bytes of a file, or None if the file on disk is up to date, and its spans."""

    data: bytes | None
    spans: FileSpans


class Chunks(Protocol):
    """What the units of a file put into its slots."""

    def chunks(self, slot: str, indent: str) -> Sequence[str | None]:
        """Chunk of each unit in a slot that has its lines to itself."""
        ...

    def chunk(self, slot: str, indent: str, number: int) -> str | None:
        """Chunk of the unit of a number."""
        ...

    def texts(self, slot: str) -> Sequence[str]:
        """Texts of all units in a slot, in order."""
        ...


class _FileWriter:
    """A file that grows part by part, and the spans of its chunks. What is left of an old text stands at its end."""

    __slots__ = ("_copied", "_old", "_parts", "_size", "_slots", "_template")

    def __init__(self, template: Template, old: bytes = b"") -> None:
        self._template = template
        self._old = old
        self._copied = 0
        self._parts: list[bytes] = []
        self._slots: list[SlotSpans] | None = []
        self._size = 0

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
        if trimmed[-1:] == b" " and separator:
            # Lines of blanks, which only older releases have. What was cut off cannot be told from its length.
            trimmed = trimmed.rstrip()
            self._slots = None
        if self._slots is not None:
            self._slots.append(SlotSpans(start, lengths.tobytes(), len(data) - len(trimmed)))
        self._add(trimmed)

    def replace_slot(self, slot: SlotSpans, before: bytes, data: bytes, lengths: array[int]) -> bool:
        """Put other chunks in the place of those of a slot of the old text, after what stands before them there.

        Gives whether that is all that changes: if either text is empty but for line breaks, these are cut off in what
        is before the slot.
        """
        start = self._size + slot.start - self._copied
        if (data, lengths) == (before, slot.unit_lengths()):
            trimmed = slot.trimmed
        else:
            stripped = data.rstrip(b"\n") if self._template.separator else data
            if not stripped or slot.trimmed >= len(before):
                return False
            self._add(self._old[self._copied : slot.start])
            self._add(stripped)
            self._copied = slot.start + len(before) - slot.trimmed
            trimmed = len(data) - len(stripped)
        if self._slots is not None:
            self._slots.append(SlotSpans(start, lengths.tobytes(), trimmed))
        return True

    def finish(self, fingerprints: bytes) -> RenderedFile:
        """Bytes of the file and its spans."""
        self._add(self._old[self._copied :])
        data = b"".join(self._parts)
        if b'"""\n' in data:
            text = data.decode()
            changed = self._template.with_docstring_lines(text)
            if changed != text:
                return RenderedFile(changed.encode(), FileSpans(fingerprints, None))
        return RenderedFile(data, FileSpans(fingerprints, None if self._slots is None else tuple(self._slots)))


def _size(chunk: str | None) -> int:
    if chunk is None:
        return ABSENT
    return len(chunk) if chunk.isascii() else len(chunk.encode())


class FileContents(NamedTuple):
    """What a file of many units is made from.

    `slots` are the file slots, None in a patch that leaves them as they are; `filled` are the names of the slots that
    units fill, and `units` what these put there.
    """

    template: Template
    slots: Slots | None
    filled: Collection[str]
    units: Chunks
    fingerprints: bytes


def assemble(contents: FileContents) -> RenderedFile:
    """Bytes of a file and its spans. Raises KeyError for a slot without a value."""
    template, file_slots, filled, units, fingerprints = contents
    slots = file_slots or {}
    writer = _FileWriter(template)
    writer.add(template.opening)
    for name, indent, before, after, rest in template.parts:
        if name not in filled:
            writer.add(template.filled_slot(slots[name], indent, before, after))
        elif indent is None:
            slot_texts = slots.get(name, ())
            texts = [*([slot_texts] if isinstance(slot_texts, str) and slot_texts else slot_texts), *units.texts(name)]
            writer.add_undivided(template.filled_slot(texts, None, before, after))
        else:
            chunks = units.chunks(name, indent)
            joined = template.separator.join([chunk for chunk in chunks if chunk is not None])
            lead = template.chunk(slots.get(name, ()), indent)
            writer.add_slot(lead, joined.encode(), array("i", map(_size, chunks)))
        writer.add(rest)
    return writer.finish(fingerprints)


def patch(contents: FileContents, spans: FileSpans, old: bytes) -> RenderedFile | None:
    """Assembles a file with the chunks of unchanged units from the old one.

    If the contents have no file slots, what is between the chunks of units is taken from the old file too. None if that
    cannot be done: the old file's spans do not fit the template, or without file slots all that units put into a slot
    comes or goes, which changes what is between.
    """
    template, slots, filled, _, fingerprints = contents
    if spans.slots is None:
        return None
    runs = _reused_runs(spans.fingerprints, fingerprints)
    old_slots = iter(spans.slots)
    writer = _FileWriter(template, old if slots is None else b"")
    if slots is not None:
        writer.add(template.opening)
    for part in template.parts:
        if part.name in filled and part.indent is not None:
            slot = next(old_slots, None)
            region = None if slot is None else _patched_slot(contents, part, slot, old, runs)
            if slot is None or region is None:
                return None
            data, lengths, data_before = region
            if slots is not None:
                writer.add_slot(template.chunk(slots.get(part.name, ()), part.indent), data, lengths)
            elif not writer.replace_slot(slot, data_before, data, lengths):
                return None
        elif slots is not None:
            writer.add(template.filled_slot(slots[part.name], part.indent, part.before, part.after))
        if slots is not None:
            writer.add(part.rest)
    return writer.finish(fingerprints)


class _Run(NamedTuple):
    """Units next to each other in the new file, and the number of the first of them in the old file, where they stand
    next to each other too. If `old_first` is None, it is one unit whose chunk is made anew."""

    first: int
    old_first: int | None
    length: int


def changed_units(old: bytes, new: bytes) -> list[int]:
    """Numbers of the units of a new file whose chunks `patch` makes anew, by the fingerprints of both files."""
    return [run.first for run in _reused_runs(old, new) if run.old_first is None]


def _reused_runs(old: bytes, new: bytes) -> list[_Run]:
    """Units of the new file as the longest runs that can be copied at once.

    It copies chunks of units whose fingerprint the old file has. Most edits change few units next to each other.
    """
    before, after = _common_ends(old, new)
    start, end = before * FINGERPRINT_SIZE, -after * FINGERPRINT_SIZE or None
    runs = [_Run(0, 0, before)] if before else []
    for first, old_first, length in _runs(split_fingerprints(old[start:end]), split_fingerprints(new[start:end])):
        runs.append(_Run(before + first, None if old_first is None else before + old_first, length))
    if after:
        runs.append(_Run(len(new) // FINGERPRINT_SIZE - after, len(old) // FINGERPRINT_SIZE - after, after))
    return runs


def _common_ends(old: bytes, new: bytes) -> tuple[int, int]:
    """How many units two files have in common at their starts, and how many of the others at their ends."""
    size = FINGERPRINT_SIZE
    fewest = min(len(old), len(new)) // size
    # Comparing the bytes of many units a few times is faster than comparing each unit once.
    before = bisect_left(range(1, fewest + 1), True, key=lambda count: old[: count * size] != new[: count * size])
    rest = fewest - before
    after = bisect_left(range(1, rest + 1), True, key=lambda count: old[-count * size :] != new[-count * size :])
    return before, after


def _runs(old: Sequence[bytes], new: Sequence[bytes]) -> Iterator[_Run]:
    """Runs of equal units, from some units of each file."""
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


def _patched_slot(
    contents: FileContents, part: TemplatePart, slot: SlotSpans, old: bytes, runs: Sequence[_Run]
) -> tuple[bytes, array[int], bytes] | None:
    """Chunks of a slot, joined, and the length of each; then the chunks of the old file, joined.

    None if the spans do not fit the old file.
    """
    lengths = slot.unit_lengths()
    separator = contents.template.separator.encode()
    gap = len(separator)
    ends = {run.old_first + run.length for run in runs if run.old_first is not None}
    offsets = _offsets(lengths, {len(lengths), *[run.old_first or 0 for run in runs], *ends}, gap)
    total = max(offsets[len(lengths)] - gap, 0)
    # Line breaks are cut off at the end of the slot, which may reach back into the text before the first chunk.
    size = max(total - slot.trimmed, 0)
    data = old[slot.start : slot.start + size] + b"\n" * (total - size)
    if len(data) != total:
        return None
    parts: list[bytes] = []
    new_lengths = array("i")
    for first, old_first, length in runs:
        if old_first is None:
            chunk = contents.units.chunk(part.name, part.indent or "", first)
            new_lengths.append(_size(chunk))
            if chunk is not None:
                parts.append(chunk.encode())
            continue
        start, end = offsets[old_first], offsets[old_first + length]
        new_lengths.extend(lengths[old_first : old_first + length])
        if end > start:
            parts.append(data[start : end - gap])
    return separator.join(parts), new_lengths, data


def _offsets(lengths: array[int], numbers: Iterable[int], gap: int) -> dict[int, int]:
    """Where in a slot the chunks of the units of some numbers begin.

    A separator is after each chunk. A unit without a chunk adds nothing.
    """
    offsets: dict[int, int] = {}
    offset = start = 0
    for number in sorted(numbers):
        between = lengths[start:number]
        absent = between.count(ABSENT)
        offset += sum(between) - absent * ABSENT + (len(between) - absent) * gap
        offsets[number] = offset
        start = number
    return offsets
