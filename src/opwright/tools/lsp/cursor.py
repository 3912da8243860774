"""Where a position is in a YAML file that may be half written: the keys around it, and the word there.

A file does not parse while a user types, so this reads lines and their indentation, and flow mappings of one line.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from opwright.source.records import NamedTuple
from opwright.source.span import SourceText, Span

#: Indentation, dashes of list items, and a key with its colon.
_KEY_LINE: Final = re.compile(r"( *)((?:- +)*)([^\s#'\"{}\[\],][^#{}\[\]]*?|'[^']*'|\"[^\"]*\")[ \t]*:(?=\s|$)")
_TOP: Final = re.compile(r"(?m)^[^\s#{}\[\],-]")
_ITEM_LINE: Final = re.compile(r"( *)((?:-(?: +|$))*)")
_WORD: Final = re.compile(r"[\w.]+(?:::[\w.]+)*")


class Cursor(NamedTuple):
    """A position: the keys of the mappings around it, outermost first, and the word at it, which may be empty.

    In a value, the last key of the path is that of the value. `in_key` says whether the word may be a key: it is one,
    or nothing in its line tells a key from a value yet.
    """

    path: tuple[str, ...]
    word: Span
    in_key: bool

    @property
    def key(self) -> str:
        """The key of the value at the position, or of the innermost mapping around it; "" at the top."""
        return self.path[-1] if self.path else ""


def word_at(file: SourceText, offset: int) -> Span:
    """The word at an offset: a name with dots and namespaces; a span of no width if there is none.

    >>> word_at(SourceText("x.yaml", "autogen: aten::add.out"), 12).text
    'aten::add.out'
    """
    line = file.line_and_column(offset)[0]
    start = file.line_starts[line - 1]
    for match in _WORD.finditer(file.line_text(line)):
        if start + match.start() <= offset <= start + match.end():
            return Span(file, start + match.start(), start + match.end())
    return Span(file, offset, offset)


def cursor_at(file: SourceText, offset: int) -> Cursor:
    """The cursor at an offset.

    >>> text = "supported:\\n- add.out: {structured: true}\\n- func: f()\\n  dispatch:\\n    CPU: f_cpu\\n"
    >>> def at(words):
    ...     return cursor_at(SourceText("x.yaml", text), text.index(words))
    >>> at("true").path, at("structured").path, at("structured").in_key
    (('supported', 'add.out', 'structured'), ('supported', 'add.out'), True)
    >>> at("f_cpu").path, at("CPU").path, at("f()").key
    (('supported', 'dispatch', 'CPU'), ('supported', 'dispatch'), 'func')
    """
    line, column = file.line_and_column(offset)
    text = file.line_text(line)
    word = word_at(file, offset)
    match = _KEY_LINE.match(text)
    if match is None:
        indent = _ITEM_LINE.match(text)
        assert indent is not None, "the pattern matches any text"
        edge = indent.end() if indent[2] else indent.end(1)
        keys = _keys_above(file, line, min(edge, column - 1), len(indent[1]) if indent[2] else None)
        flow, in_key = _flow(text[edge : column - 1])
        return Cursor((*keys, *flow), word, in_key)
    keys = _keys_above(file, line, match.start(3), len(match[1]) if match[2] else None)
    if column - 1 <= match.end(3):
        return Cursor(tuple(keys), word, in_key=True)
    flow, in_key = _flow(text[match.end() : column - 1])
    return Cursor((*keys, match[3].strip("'\""), *flow), word, in_key and bool(flow or "{" in text[match.end() :]))


def _keys_above(file: SourceText, line: int, column: int, dash: int | None) -> list[str]:
    """The keys of the mappings around a line whose content begins at a column, and whose dash, if any, at another."""
    keys: list[str] = []
    # A list may begin at the column of its key.
    limit = column if dash is None else dash + 1
    for number in range(line - 1, 0, -1):
        if limit <= 1:
            # Only a key at the beginning of its line is left, which the items of a long list may be far from.
            above = [key for key_line, key in _top_keys(file) if key_line <= number] if limit else []
            return [*above[-1:], *keys]
        match = _KEY_LINE.match(file.line_text(number))
        if match is not None and match.start(3) < limit:
            keys.insert(0, match[3].strip("'\""))
            limit = len(match[1]) + 1 if match[2] else match.start(3)
        elif match is not None and match[2] and len(match[1]) < limit:
            # Another key of the mapping of the same list item.
            limit = len(match[1]) + 1
    return keys


@lru_cache(maxsize=8)
def _top_keys(file: SourceText) -> tuple[tuple[int, str], ...]:
    """The keys at the beginnings of lines, with their lines."""
    numbers = (file.line_and_column(match.start())[0] for match in _TOP.finditer(file.text))
    matches = ((number, _KEY_LINE.match(file.line_text(number))) for number in numbers)
    return tuple([(number, match[3].strip("'\"")) for number, match in matches if match is not None])


def _flow(text: str) -> tuple[list[str], bool]:
    """The keys of flow mappings that are open at the end of a text, and whether a key may stand there.

    >>> _flow(" {structured: true, guard: {type: "), _flow(" [core, "), _flow(" {structured: true, de")
    ((['guard', 'type'], False), ([], False), ([], True))
    >>> _flow(' {x: "n {k')
    (['x'], False)
    """
    frames: list[str | None] = []
    word, quote = "", ""
    is_key = True
    for character in text:
        if quote or (character in "\"'" and not word.strip()):
            # A quoted text may have brackets.
            quote = "" if character == quote else quote or character
            word += character
        elif character in "{[":
            frames.append("" if character == "{" else None)
            word, is_key = "", character == "{"
        elif character in "}]" and frames:
            frames.pop()
            word = ""
        elif character == ",":
            if frames and frames[-1] is not None:
                frames[-1] = ""
            word, is_key = "", not frames or frames[-1] is not None
        elif character == ":" and frames and frames[-1] == "":
            frames[-1] = word.strip(" \"'")
            word, is_key = "", False
        else:
            word += character
    return [frame for frame in frames if frame], is_key
