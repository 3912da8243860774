"""What a run remembers of how its files were made, for the next run that makes most of them the same."""

from __future__ import annotations

import marshal
import zlib
from typing import TYPE_CHECKING, Final, NamedTuple

from opwright.build.pieces import FilePieces, SlotPieces
from opwright.build.record import Run, replace_state

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["EmitterPast", "Past", "load_past", "write_past"]

_FORMAT: Final = b"opwright-pieces 1 "
_SUFFIX: Final = ".pieces"


class EmitterPast(NamedTuple):
    """How the files of one emitter were made.

    `template` and `frame` are digests of what all its files share, `filled` has the slots that units fill. `files` has
    the pieces of each file by path; it is empty where fragments saw more than their units, for then nothing follows
    from tokens.
    """

    template: bytes
    frame: bytes
    filled: frozenset[str]
    files: Mapping[str, FilePieces]


class Past(NamedTuple):
    """What is remembered of a run: a digest of the job without its entries, the tool, and each emitter by name."""

    job: bytes
    tool: str
    emitters: Mapping[str, EmitterPast]


def load_past(run: Run, checksum: str) -> Past | None:
    """What the last run of a kind remembered, or None when there is nothing that can be trusted.

    `checksum` is that which the run's record names: pieces and record are of the same run, or of no use.
    """
    try:
        with open(run.state_path(_SUFFIX), "rb") as stream:
            header, _, body = stream.read().partition(b"\n")
        # The checksum comes first: what reads the rest is quick, and no match for damaged data.
        if header != _header(body) or header.decode() != checksum:
            return None
        job, tool, kind, emitters = marshal.loads(body)
        if kind != run.kind:
            return None
        return Past(job, tool, {name: _emitter_past(*stored) for name, stored in emitters.items()})
    except (OSError, EOFError, ValueError, TypeError, AttributeError):
        return None


_Stored = dict[str, tuple[bytes, "tuple[tuple[int, bytes, int], ...] | None"]]


def _emitter_past(template: bytes, frame: bytes, filled: frozenset[str], files: _Stored) -> EmitterPast:
    pieces = {
        path: FilePieces(tokens, None if slots is None else tuple([SlotPieces(*slot) for slot in slots]))
        for path, (tokens, slots) in files.items()
    }
    return EmitterPast(template, frame, filled, pieces)


def write_past(run: Run, past: Past) -> str:
    """Keeps what a run remembers, and gives its checksum for the record.

    Where it cannot be kept the next run makes all files again.
    """
    emitters = {
        name: (one.template, one.frame, one.filled, {path: _plain(pieces) for path, pieces in one.files.items()})
        for name, one in past.emitters.items()
    }
    body = marshal.dumps((past.job, past.tool, run.kind, emitters))
    header = _header(body)
    return header.decode() if replace_state(run.state_path(_SUFFIX), header + b"\n" + body) else ""


def _plain(pieces: FilePieces) -> tuple[bytes, tuple[tuple[int, bytes, int], ...] | None]:
    if pieces.slots is None:
        return pieces.tokens, None
    return pieces.tokens, tuple([(slot.start, slot.lengths, slot.trimmed) for slot in pieces.slots])


def _header(body: bytes) -> bytes:
    return _FORMAT + f"{zlib.crc32(body):08x} {len(body)}".encode()
