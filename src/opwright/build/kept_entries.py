"""Keeps what a run loaded from the entries of an input, in a file for each dialect, for runs after an edit.

The first run into a folder may be the only one and keeps nothing. A run that finds a previous build keeps the entries,
if none are kept yet or many differ. The file is JSON. It may be forged, like all state: whoever reads a row checks it.
"""

from __future__ import annotations

import zlib
from json import dumps, loads

from opwright.build.plain_files import read_plain_file
from opwright.build.runs import replace_state

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from opwright.build.runs import Run

__all__ = ["load_entries", "write_entries"]

_FORMAT = b"opwright-entries 1 "


def _path(run: Run, dialect: str) -> str:
    return run.state_path(f".{dialect}.entries")


def load_entries(run: Run, tool: str, dialect: str) -> tuple[str, Mapping[str, str]] | None:
    """The context of the entries of a dialect that the same tool kept, and their rows by their texts.

    None if there are none.
    """
    try:
        header, _, body = read_plain_file(_path(run, dialect)).partition(b"\n")
        if header != _header(body):
            return None
        data = loads(body)
        context, rows = data["context"], data["rows"]
        if data["tool"] != tool or {type(context), *map(type, rows.values())} != {str}:
            return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    return context, rows


def write_entries(run: Run, tool: str, dialect: str, context: str, rows: Mapping[str, str]) -> None:
    """Keep the entries of a dialect. If that is not possible, later runs read all entries."""
    body = dumps({"tool": tool, "context": context, "rows": rows}, separators=(",", ":")).encode()
    replace_state(_path(run, dialect), _header(body) + b"\n" + body)


def _header(body: bytes) -> bytes:
    return _FORMAT + f"{zlib.crc32(body):08x} {len(body)}".encode()
