"""What a run remembers of how its files were made, for the next run that makes most of them the same.

It is JSON, because the file may be forged: Python's own formats are not safe to read from strangers.
"""

from __future__ import annotations

import zlib
from array import array
from binascii import a2b_base64, b2a_base64
from json import dumps, loads
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from opwright.build.pieces import FilePieces, SlotPieces
from opwright.build.plain_files import read_plain_file
from opwright.build.runs import Run, replace_state
from opwright.build.tokens import TOKEN_SIZE

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["EmitterPast", "Past", "load_past", "write_past"]

_FORMAT: Final = b"opwright-pieces 2 "
_SUFFIX: Final = ".pieces"
_LENGTH_SIZE: Final = array("i").itemsize


class EmitterPast(NamedTuple):
    """How the files of one emitter were made.

    `template` and `frame` are digests of what all its files share, `filled` has the slots that units fill. `files` has
    the pieces of each file by path; it is empty where fragments saw more than their units, for then nothing follows
    from tokens. In that case they are in `unsaved`, which tells only this run where its lines come from.
    """

    template: bytes
    frame: bytes
    filled: frozenset[str]
    files: Mapping[str, FilePieces]
    unsaved: Mapping[str, FilePieces]


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
        header, _, body = read_plain_file(run.state_path(_SUFFIX)).partition(b"\n")
        if header != _header(body) or header.decode() != checksum:
            return None
        data: dict[str, Any] = loads(body)
        if data["kind"] != run.kind or type(data["tool"]) is not str:
            return None
        emitters = {name: _emitter_past(*stored) for name, stored in data["emitters"].items()}
        return Past(bytes.fromhex(data["job"]), data["tool"], emitters)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


_Stored: TypeAlias = "tuple[str, list[tuple[int, str, int]] | None]"
"""The pieces of a file as they are stored: tokens, and for each slot start, lengths and what was trimmed."""

_Single: TypeAlias = "tuple[list[str], str]"
"""The files with one token and no pieces, of which there are thousands: their paths, and the tokens strung together."""


def _emitter_past(
    template: str, frame: str, filled: list[str], single: _Single, files: Mapping[str, _Stored]
) -> EmitterPast:
    paths, tokens = single[0], a2b_base64(single[1])
    if len(tokens) != len(paths) * TOKEN_SIZE:
        raise ValueError("each path needs a token")
    pieces = {
        path: FilePieces(tokens[place : place + TOKEN_SIZE], None)
        for path, place in zip(paths, range(0, len(tokens), TOKEN_SIZE), strict=True)
    }
    pieces.update({path: _file_pieces(*stored) for path, stored in files.items()})
    return EmitterPast(bytes.fromhex(template), bytes.fromhex(frame), frozenset(map(str, filled)), pieces, {})


def _file_pieces(tokens: str, slots: list[tuple[int, str, int]] | None) -> FilePieces:
    """The pieces of a file. Raises ValueError or TypeError where they are not what a run writes."""
    known = a2b_base64(tokens)
    if slots is None:
        return FilePieces(known, None)
    pieces = tuple([SlotPieces(start, a2b_base64(lengths), trimmed) for start, lengths, trimmed in slots])
    units, rest = divmod(len(known), TOKEN_SIZE)
    for slot in pieces:
        if rest or len(slot.lengths) != units * _LENGTH_SIZE or slot.start < 0 or slot.trimmed < 0:
            raise ValueError("the pieces do not fit together")
    return FilePieces(known, pieces)


def write_past(run: Run, past: Past) -> str:
    """Keeps what a run remembers, and gives its checksum for the record.

    Where it cannot be kept the next run makes all files again.
    """
    emitters = {name: _stored_emitter(emitter) for name, emitter in past.emitters.items()}
    data = {"job": past.job.hex(), "tool": past.tool, "kind": run.kind, "emitters": emitters}
    body = dumps(data, separators=(",", ":")).encode()
    header = _header(body)
    return header.decode() if replace_state(run.state_path(_SUFFIX), header + b"\n" + body) else ""


def _stored_emitter(emitter: EmitterPast) -> tuple[str, str, list[str], _Single, dict[str, _Stored]]:
    paths: list[str] = []
    tokens: list[bytes] = []
    files: dict[str, _Stored] = {}
    for path, pieces in emitter.files.items():
        if pieces.slots is None and len(pieces.tokens) == TOKEN_SIZE:
            paths.append(path)
            tokens.append(pieces.tokens)
        else:
            files[path] = _stored(pieces)
    single = paths, _text(b"".join(tokens))
    return emitter.template.hex(), emitter.frame.hex(), sorted(emitter.filled), single, files


def _stored(pieces: FilePieces) -> _Stored:
    slots = pieces.slots
    stored = None if slots is None else [(slot.start, _text(slot.lengths), slot.trimmed) for slot in slots]
    return _text(pieces.tokens), stored


def _text(data: bytes) -> str:
    return b2a_base64(data, newline=False).decode()


def _header(body: bytes) -> bytes:
    return _FORMAT + f"{zlib.crc32(body):08x} {len(body)}".encode()
