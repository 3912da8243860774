"""The texts of open files as an editor changes them, and its positions in them.

An editor counts lines by the line breaks of the protocol, as a `SourceText` does, and characters in units that it
chooses, most often those of UTF-16.
"""

from __future__ import annotations

from collections.abc import Sequence

from lsprotocol import types as lsp
from pygls.uris import to_fs_path
from pygls.workspace import PositionCodec

from opwright.source.span import SourceText


def path_of(uri: str) -> str | None:
    """The path of a file; None for any other URI.

    >>> path_of("file:///a%20b.yaml"), path_of("untitled:1"), path_of("file://[")
    ('/a b.yaml', None, None)
    """
    try:
        return to_fs_path(uri)
    except ValueError:
        return None


def offset_at(file: SourceText, position: lsp.Position, codec: PositionCodec) -> int:
    """The offset of a position; one behind the end of a line or of the text counts as that end.

    >>> file = SourceText("x.yaml", "ab\\n\\U0001f600cd\\n")
    >>> [offset_at(file, lsp.Position(*at), PositionCodec()) for at in ((1, 2), (0, 9), (9, 0))]
    [4, 2, 7]
    """
    if position.line >= file.line_count:
        return len(file.text)
    line = file.line_text(position.line + 1)
    start = file.line_starts[position.line]
    if line.isascii():
        return start + min(position.character, len(line))
    units = 0
    for index, character in enumerate(line):
        if units >= position.character:
            return start + index
        units += codec.client_num_units(character)
    return start + len(line)


def position_at(file: SourceText, offset: int, codec: PositionCodec) -> lsp.Position:
    """The position of an offset."""
    line, column = file.line_and_column(offset)
    before = file.line_text(line)[: column - 1]
    # Nearly all lines are ASCII, whose characters are one unit in each encoding.
    return lsp.Position(line - 1, len(before) if before.isascii() else codec.client_num_units(before))


def changed_text(file: SourceText, changes: Sequence[lsp.TextDocumentContentChangeEvent], codec: PositionCodec) -> str:
    """The text of a file after changes, each of which applies to what the one before it left.

    >>> start, end = lsp.Position(0, 1), lsp.Position(1, 0)
    >>> change = lsp.TextDocumentContentChangePartial(lsp.Range(start, end), "x")
    >>> changed_text(SourceText("x.yaml", "ab\\ncd"), [change, change], PositionCodec())
    'ax'
    """
    for change in changes:
        text = change.text
        if isinstance(change, lsp.TextDocumentContentChangePartial):
            start = offset_at(file, change.range.start, codec)
            end = max(start, offset_at(file, change.range.end, codec))
            text = file.text[:start] + text + file.text[end:]
        file = SourceText(file.path, text)
    return file.text
