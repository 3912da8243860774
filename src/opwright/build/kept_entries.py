"""Keeps what a run loaded from the entries of an input, in a file for each dialect, for runs after an edit.

The first run into a folder may be the only one and keeps nothing. A run that finds a previous build keeps the entries,
if none are kept yet or many differ. The file has texts alone, with a zero character between them: tool, context, then
the text and the row of each entry. Splitting takes a tenth of the time of JSON, whose texts have to be unescaped. The
file may be forged, like all state: whoever reads a row checks it.
"""

from __future__ import annotations

from opwright.build.runs import read_checked_state, replace_checked_state

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from opwright.build.runs import Run

__all__ = ["load_entries", "write_entries"]

_FORMAT = "opwright-entries 2"
_SEPARATOR = "\0"
_LEAD = 2
"""The number of texts before those of the entries."""


def _path(run: Run, dialect: str) -> str:
    return run.state_path(f".{dialect}.entries")


def load_entries(run: Run, tool: str, dialect: str) -> tuple[str, Mapping[str, str]] | None:
    """The context of the entries of a dialect that the same tool kept, and their rows by their texts.

    None if there are none.
    """
    try:
        _, body = read_checked_state(_path(run, dialect), _FORMAT)
        texts = body.decode("utf-8", "surrogatepass").split(_SEPARATOR)
    except (OSError, ValueError):
        return None
    if texts[0] != tool or len(texts) < _LEAD or len(texts) % 2:
        return None
    return texts[1], dict(zip(texts[_LEAD::2], texts[_LEAD + 1 :: 2], strict=True))


def write_entries(run: Run, tool: str, dialect: str, context: str, rows: Mapping[str, str]) -> None:
    """Keep the entries of a dialect. If that is not possible, later runs read all entries."""
    texts = [text for row in rows.items() if _SEPARATOR not in "".join(row) for text in row]
    body = _SEPARATOR.join([tool, context, *texts]).encode("utf-8", "surrogatepass")
    replace_checked_state(_path(run, dialect), _FORMAT, body)
