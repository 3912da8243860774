"""The places in a file that name what is at a position: an operator, an argument, a kernel, a key or a tag."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lsprotocol import types as lsp

from opwright.source.span import Span
from opwright.source.text import SourceFile
from opwright.tools.lsp.cursor import word_at
from opwright.tools.lsp.navigation import places_of
from opwright.tools.lsp.operators import entry_at, operator_entries, plain_name
from opwright.tools.lsp.rename import argument_at
from opwright.tools.lsp.server import OperatorServer


def answer(server: OperatorServer, params: lsp.DocumentHighlightParams) -> list[lsp.DocumentHighlight]:
    """The places in a file that name what is at a position."""
    place = server.place(params.text_document.uri, params.position)
    return [lsp.DocumentHighlight(server.range(span)) for span in (() if place is None else highlights_at(*place))]


def highlights_at(file: SourceFile, offset: int) -> Iterator[Span]:
    """The places in a file that name what is at an offset.

    An argument is named in its entry, also as the `_p` and `_t` of forward formulas. Any other word is looked for in
    the whole file.
    """
    argument, entry, word = argument_at(file, offset), entry_at(file, offset), word_at(file, offset).text
    if argument is not None and entry is not None:
        pattern, part = re.compile(rf"(?<![\w.])({argument.text})(?=(?:_[pt])?(?!\w))"), entry.entry
    elif plain_name(word) in operator_entries(file):
        yield from places_of([file], plain_name(word))
        return
    else:
        pattern, part = re.compile(rf"(?<![\w.])({re.escape(word)})(?![\w.])"), file.span(0, len(file.text))
    for match in pattern.finditer(file.text, part.start, part.end) if word else ():
        if "#" not in file.text[file.text.rfind("\n", 0, match.start()) + 1 : match.start()]:
            yield file.span(*match.span(1))
