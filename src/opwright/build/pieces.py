"""Files as pieces: which bytes of a file came from which unit, so that the next run can take them over.

The text that one unit puts into one slot is its chunk. A file is the template's own text, the values of its frame, and
in each slot that units fill their chunks in order. `assembled` joins chunks that were made in this run; `spliced` takes
those of unchanged units out of the file that an earlier run wrote.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Collection, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from opwright.build.template import Piece, Template, WholeText
from opwright.build.tokens import TOKEN_SIZE

if TYPE_CHECKING:
    from opwright.emit.emitter import Slots

__all__ = ["ABSENT", "AnyTemplate", "FilePieces", "SlotPieces", "assembled", "has_pieces", "spliced"]

ABSENT: Final = -1
"""The length of the chunk of a unit that puts nothing into a slot."""

AnyTemplate: TypeAlias = "Template | WholeText"


class SlotPieces(NamedTuple):
    """Where the chunks of one slot are: the offset of the first, the length of each, and what was cut at the end."""

    start: int
    lengths: bytes
    trimmed: int


class FilePieces(NamedTuple):
    """The tokens of a file's units one after the other, and its slots that units fill, in the template's order.

    `slots` is None where the file cannot be told apart.
    """

    tokens: bytes
    slots: tuple[SlotPieces, ...] | None


def has_pieces(template: AnyTemplate, filled: Collection[str]) -> bool:
    """Whether units fill whole lines only, so that a file of the template can be told apart into chunks."""
    return all(piece.indent is not None for piece in template.pieces if piece.name in filled)


class _Writing:
    """A file that grows piece by piece, and what is noted of it."""

    __slots__ = ("_parts", "_size", "_slots", "_template")

    def __init__(self, template: AnyTemplate) -> None:
        self._template = template
        self._parts: list[bytes] = []
        self._slots: list[SlotPieces] = []
        self._size = 0
        self.add(template.opening)

    def add(self, text: str) -> None:
        """Adds text that is no unit's."""
        self._add(text.encode())

    def _add(self, data: bytes) -> None:
        self._parts.append(data)
        self._size += len(data)

    def add_slot(self, lead: str | None, text: bytes, lengths: array[int]) -> None:
        """Adds the chunks of a slot after those that the frame puts there."""
        start = self._size
        if lead is not None:
            joint = self._template.joint if text or any(length >= 0 for length in lengths) else ""
            start += len(lead) + len(joint)
            text = (lead + joint).encode() + text
        kept = text.rstrip(b"\n") if self._template.joint else text
        self._slots.append(SlotPieces(start, lengths.tobytes(), len(text) - len(kept)))
        self._add(kept)

    def finished(self, tokens: bytes) -> tuple[bytes, FilePieces]:
        """The bytes, and the pieces, where lengths are those of bytes and nothing but chunks was cut."""
        data = b"".join(self._parts)
        return data, FilePieces(tokens, tuple(self._slots) if data.isascii() else None)


def assembled(
    template: AnyTemplate,
    values: Slots,
    filled: Collection[str],
    chunks: Callable[[str, str], Sequence[str | None]],
    tokens: bytes,
) -> tuple[bytes, FilePieces]:
    """The bytes of a file and its pieces.

    `values` are the slots of the frame, `filled` those that units fill as well; `chunks` gives those of all units in a
    slot with an indentation. Raises KeyError for a slot without value.
    """
    writing = _Writing(template)
    for name, indent, before, after, rest in template.pieces:
        if name in filled and indent is not None:
            texts = chunks(name, indent)
            lengths = array("i", [ABSENT if text is None else len(text) for text in texts])
            joined = template.joint.join([text for text in texts if text is not None])
            writing.add_slot(template.chunk(values.get(name, ()), indent), joined.encode(), lengths)
        else:
            writing.add(template.filled_slot(values[name], indent, before, after))
        writing.add(rest)
    return writing.finished(tokens)


def spliced(
    template: AnyTemplate,
    values: Slots,
    filled: Collection[str],
    chunk: Callable[[str, str, int], str | None],
    tokens: bytes,
    earlier: FilePieces,
    old: bytes,
) -> tuple[bytes, FilePieces] | None:
    """The bytes of a file and its pieces, with the chunks of unchanged units from the old file.

    `chunk` makes that of the unit at a place. None where the pieces do not fit, and all must be made again.
    """
    reused = _Reused(earlier.tokens, tokens)
    slots = iter(earlier.slots or ())
    writing = _Writing(template)
    for piece in template.pieces:
        if piece.name in filled and piece.indent is not None:
            slot = next(slots, None)
            region = None if slot is None else _region(template, piece, slot, old, reused, chunk)
            if region is None:
                return None
            lead = template.chunk(values.get(piece.name, ()), piece.indent)
            writing.add_slot(lead, *region)
        else:
            writing.add(template.filled_slot(values[piece.name], piece.indent, piece.before, piece.after))
        writing.add(piece.rest)
    return writing.finished(tokens)


class _Reused:
    """Which chunks a new file takes from an old one: those before the first new unit and after the last, and between
    these whatever has a known token."""

    __slots__ = ("_between", "count", "head", "old_count", "tail", "tokens")

    def __init__(self, earlier: bytes, tokens: bytes) -> None:
        old, new = _split(earlier), _split(tokens)
        self.tokens = new
        self.count, self.old_count = len(new), len(old)
        shorter = min(len(old), len(new))
        self.head = next((place for place in range(shorter) if old[place] != new[place]), shorter)
        rest = shorter - self.head
        self.tail = next((place for place in range(rest) if old[-1 - place] != new[-1 - place]), rest)
        self._between = {old[place]: place for place in range(self.head, len(old) - self.tail)}

    def old_place(self, place: int) -> int | None:
        """Where the unit at a place between head and tail stood, if it did."""
        return self._between.get(self.tokens[place])


def _split(tokens: bytes) -> list[bytes]:
    return [tokens[start : start + TOKEN_SIZE] for start in range(0, len(tokens), TOKEN_SIZE)]


def _region(
    template: AnyTemplate,
    piece: Piece,
    slot: SlotPieces,
    old: bytes,
    reused: _Reused,
    chunk: Callable[[str, str, int], str | None],
) -> tuple[bytes, array[int]] | None:
    """The chunks of a slot, joined, and the length of each; neighbours are taken over together."""
    lengths = array("i")
    lengths.frombytes(slot.lengths)
    if len(lengths) != reused.old_count:
        return None
    gap = len(template.joint)
    # Where the chunk of each unit ends, with what joins it to the next; a unit without chunk adds nothing.
    ends = list(accumulate([length + gap if length >= 0 else 0 for length in lengths], initial=0))
    total = max(ends[-1] - gap, 0)
    if slot.trimmed > total:
        return None
    text = old[slot.start : slot.start + total - slot.trimmed] + b"\n" * slot.trimmed
    if len(text) != total:
        return None
    parts: list[bytes] = []
    found = lengths[: reused.head]

    def take(first: int, last: int) -> None:
        if ends[last] > ends[first]:
            parts.append(text[ends[first] : ends[last] - gap])

    take(0, reused.head)
    for place in range(reused.head, reused.count - reused.tail):
        before = reused.old_place(place)
        if before is not None:
            take(before, before + 1)
            found.append(lengths[before])
            continue
        made = chunk(piece.name, piece.indent or "", place)
        found.append(ABSENT if made is None else len(made))
        if made is not None:
            parts.append(made.encode())
    take(reused.old_count - reused.tail, reused.old_count)
    found.extend(lengths[reused.old_count - reused.tail :])
    return template.joint.encode().join(parts), found
