"""The previous build: what a run keeps of how its files were made, for the next run, which reuses most of it.

It is stored as JSON. The file may be forged, and Python's formats are not safe to read from strangers.
"""

from __future__ import annotations

from array import array
from binascii import a2b_base64, b2a_base64
from functools import lru_cache
from json import dumps, loads
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from opwright.incremental.fingerprints import FINGERPRINT_SIZE
from opwright.incremental.patch import FileSpans, SlotSpans
from opwright.source.records import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from opwright.files.plain_files import Status

_LENGTH_SIZE: Final = array("i").itemsize


class EmitterState(NamedTuple):
    """How the files of one emitter were made.

    `context`, `template` and `file_slots` are fingerprints of what all its files share, `filled` has the slots that
    units fill, and `files` the spans of each file by path. `depends_on` are the names of the functions with which alone
    the context is the same.
    """

    context: bytes
    template: bytes
    file_slots: bytes
    filled: frozenset[str]
    files: Mapping[str, FileSpans]
    depends_on: tuple[str, ...] = ()


class PreviousFile(NamedTuple):
    """A file on disk that is as the previous build left it, and its spans."""

    path: str
    spans: FileSpans

    def read(self) -> bytes:
        """Contents of the file. Raises OSError."""
        with open(self.path, "rb") as stream:
            return stream.read()


class PreviousBuild(NamedTuple):
    """What the previous build left: the state of each emitter by name, and the status of each unchanged output."""

    emitters: Mapping[str, EmitterState]
    intact: Mapping[str, Status]

    def file(self, emitter: str, path: str, target: str) -> PreviousFile | None:
        """File of an emitter, by its path and its place on disk, if it is as the previous build left it."""
        state = self.emitters.get(emitter)
        spans = None if state is None else state.files.get(path)
        return None if spans is None or target not in self.intact else PreviousFile(target, spans)


@lru_cache(maxsize=1)
def decode_emitters(data: bytes) -> Mapping[str, EmitterState] | None:
    """State of each emitter by name; None if it is not what a run writes. A run may ask for it twice."""
    try:
        stored: dict[str, Any] = loads(data)
        return {name: _decode_emitter(*state) for name, state in stored.items()}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


_StoredSpans: TypeAlias = "tuple[str, list[tuple[int, str, int]] | None]"
"""The spans of a file as they are stored: fingerprints, and for each slot start, lengths and what was trimmed."""

_UnitFiles: TypeAlias = "tuple[list[str], str]"
"""The files of one unit each, of which there are thousands: their paths, and their fingerprints joined."""


_StoredState: TypeAlias = "tuple[list[str], list[str], _UnitFiles, dict[str, _StoredSpans], tuple[str, ...]]"
"""The state of an emitter: its fingerprints, the slots that units fill, its files, and what its reads depend on."""


def _decode_emitter(
    fingerprints: list[str],
    filled: list[str],
    unit_files: _UnitFiles,
    files: Mapping[str, _StoredSpans],
    depends_on: list[str],
) -> EmitterState:
    context, template, file_slots = map(bytes.fromhex, fingerprints)
    paths, joined = unit_files[0], a2b_base64(unit_files[1])
    if len(joined) != len(paths) * FINGERPRINT_SIZE:
        raise ValueError("each path needs a fingerprint")
    spans = {
        path: FileSpans(joined[start : start + FINGERPRINT_SIZE], None)
        for path, start in zip(paths, range(0, len(joined), FINGERPRINT_SIZE), strict=True)
    }
    spans.update({path: _decode_spans(*stored) for path, stored in files.items()})
    return EmitterState(context, template, file_slots, frozenset(map(str, filled)), spans, tuple(map(str, depends_on)))


def _decode_spans(encoded: str, slots: list[tuple[int, str, int]] | None) -> FileSpans:
    """Spans of a file. Raises ValueError or TypeError if they are not what a run writes."""
    fingerprints = a2b_base64(encoded)
    if slots is None:
        return FileSpans(fingerprints, None)
    spans = tuple([SlotSpans(start, a2b_base64(lengths), trimmed) for start, lengths, trimmed in slots])
    units, rest = divmod(len(fingerprints), FINGERPRINT_SIZE)
    for slot in spans:
        if rest or len(slot.lengths) != units * _LENGTH_SIZE or slot.start < 0 or slot.trimmed < 0:
            raise ValueError("the spans do not fit together")
    return FileSpans(fingerprints, spans)


def encode_emitters(emitters: Mapping[str, EmitterState]) -> bytes:
    """State of each emitter by name, as one line."""
    return dumps({name: _encode_emitter(state) for name, state in emitters.items()}, separators=(",", ":")).encode()


def _encode_emitter(state: EmitterState) -> _StoredState:
    paths: list[str] = []
    joined: list[bytes] = []
    files: dict[str, _StoredSpans] = {}
    for path, spans in state.files.items():
        if spans.slots is None and len(spans.fingerprints) == FINGERPRINT_SIZE:
            paths.append(path)
            joined.append(spans.fingerprints)
        else:
            files[path] = _encode_spans(spans)
    fingerprints = [state.context.hex(), state.template.hex(), state.file_slots.hex()]
    return fingerprints, sorted(state.filled), (paths, _text(b"".join(joined))), files, state.depends_on


def _encode_spans(spans: FileSpans) -> _StoredSpans:
    slots = spans.slots
    stored = None if slots is None else [(slot.start, _text(slot.lengths), slot.trimmed) for slot in slots]
    return _text(spans.fingerprints), stored


def _text(data: bytes) -> str:
    return b2a_base64(data, newline=False).decode()
