"""The parts of a file that an editor can fold: entries, the mappings and lists in them, and comments."""

from __future__ import annotations

from collections.abc import Iterator

from lsprotocol import types as lsp

from opwright.source.span import SourceText
from opwright.tools.lsp.server import OperatorServer


def answer(server: OperatorServer, params: lsp.FoldingRangeParams) -> list[lsp.FoldingRange]:
    """The parts of a file that can be folded."""
    file = server.file(params.text_document.uri)
    kinds = {True: lsp.FoldingRangeKind.Comment, False: lsp.FoldingRangeKind.Region}
    return [
        lsp.FoldingRange(first, last, kind=kinds[is_comment])
        for first, last, is_comment in (() if file is None else folds(file))
    ]


def folds(file: SourceText) -> Iterator[tuple[int, int, bool]]:
    """The first and the last line of each part, counted from 0, and whether it is a comment.

    A part is a line with all lines below it that are indented further.

    >>> text = "# a\\n# b\\n- func: f()\\n  dispatch:\\n    CPU: f\\n\\n- func: g()\\n"
    >>> sorted(folds(SourceText("x.yaml", text)))
    [(0, 1, True), (2, 4, False), (3, 4, False)]
    """
    open_parts: list[tuple[int, int]] = []
    comment: int | None = None
    last = -1
    for number, line in enumerate([*file.text.split("\n"), "end"]):
        text = line.lstrip(" ")
        is_comment = text.startswith("#")
        if not is_comment and comment is not None:
            if last > comment:
                yield comment, last, True
            comment = None
        if not text.strip():
            continue
        if is_comment:
            comment = number if comment is None else comment
        else:
            indent = len(line) - len(text)
            while open_parts and open_parts[-1][0] >= indent:
                start = open_parts.pop()[1]
                if last > start:
                    yield start, last, False
            open_parts.append((indent, number))
        last = number
