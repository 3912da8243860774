"""What the words of a file are, for colours: operators, types, arguments, keys, kernels, tags, values of formulas."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from lsprotocol import types as lsp

from opwright.dialects.table import BACKEND, DERIVATIVES
from opwright.lsp.argument_places import schema_names
from opwright.lsp.features import TOKEN_TYPES
from opwright.lsp.formulas import NO_FORMULAS, FormulaPlace, formula_names
from opwright.lsp.operators import OperatorEntry, entry_at
from opwright.lsp.project import kind_of
from opwright.lsp.server import OperatorServer
from opwright.model.dispatch_key import KEYS, LIBRARY_KEYS
from opwright.schema.types import BASE_TYPES
from opwright.source.named_tuple import NamedTuple
from opwright.source.text import SourceFile

__all__ = ["WordToken", "answer", "answer_range", "tokens_of"]


class WordToken(NamedTuple):
    """A word of a file, and what it is."""

    start: int
    end: int
    type: str


_FIELD: Final = re.compile(r"^( *(?:- +)?)([A-Za-z_][\w, ]*?|'[^']*'|\"[^\"]*\") *:(?=\s|$)")
_WORD: Final = re.compile(r"[A-Za-z_]\w*(?:::\w+)*(?:\.\w+)?")
_CALL: Final = re.compile(r"\s*\(")
_COMMENT: Final = re.compile(r"(?:^|(?<=\s))#.*")


def answer(server: OperatorServer, params: lsp.SemanticTokensParams) -> lsp.SemanticTokens:
    """The words of a file."""
    file = server.file(params.text_document.uri)
    return lsp.SemanticTokens([] if file is None else _encoded(server, file, 0, len(file.text)))


def answer_range(server: OperatorServer, params: lsp.SemanticTokensRangeParams) -> lsp.SemanticTokens:
    """The words of a part of a file."""
    uri = params.text_document.uri
    first, last = (server.place(uri, position) for position in (params.range.start, params.range.end))
    return lsp.SemanticTokens([] if first is None or last is None else _encoded(server, first[0], first[1], last[1]))


def _encoded(server: OperatorServer, file: SourceFile, start: int, end: int) -> list[int]:
    """Tokens as five numbers each: lines and units from the token before, length, type, and no modifiers."""
    data: list[int] = []
    line = column = 0
    for token in tokens_of(file, start, end):
        first, last = server.position(file, token.start), server.position(file, token.end)
        distance = first.character - (column if first.line == line else 0)
        length = last.character - first.character
        data += [first.line - line, distance, length, TOKEN_TYPES.index(token.type), 0]
        line, column = first.line, first.character
    return data


def tokens_of(file: SourceFile, start: int, end: int) -> Iterator[WordToken]:
    """The words of the lines between two offsets, in order.

    >>> text = "- func: f.out(Tensor x) -> Tensor\\n  dispatch:\\n    CPU: f_cpu\\n  tags: core\\n"
    >>> file = SourceFile("a.yaml", text)
    >>> [(text[token.start:token.end], token.type) for token in tokens_of(file, 0, len(text))][:4]
    [('func', 'property'), ('f.out', 'function'), ('Tensor', 'type'), ('x', 'parameter')]
    >>> [(text[token.start:token.end], token.type) for token in tokens_of(file, 34, len(text))][1:]
    [('CPU', 'enumMember'), ('f_cpu', 'function'), ('tags', 'property'), ('core', 'decorator')]
    """
    first, last = (file.line_and_column(offset)[0] for offset in (start, end))
    lines = _Lines(file, _field_above(file, first))
    for number in range(first, last + 1):
        yield from lines.tokens(number)


def _field_above(file: SourceFile, line: int) -> str:
    """The field of the entry that a line goes on with."""
    for number in range(line - 1, 0, -1):
        match = _FIELD.match(file.line_text(number))
        if match is not None and len(match[1]) <= len("  "):
            return match[2]
    return ""


class _Lines:
    """Reads the lines of a file in order."""

    def __init__(self, file: SourceFile, field: str) -> None:
        self._file: Final = file
        self._kind: Final = kind_of(file)
        self._field = field

    def tokens(self, number: int) -> Iterator[WordToken]:
        """The words of a line."""
        start = self._file.line_starts[number - 1]
        text = _COMMENT.sub("", self._file.line_text(number))
        match = _FIELD.match(text)
        value = 0 if match is None else match.end()
        if match is not None:
            if len(match[1]) <= len("  "):
                self._field = match[2]
            for word in _WORD.finditer(text, match.start(2), match.end(2)):
                yield WordToken(start + word.start(), start + word.end(), self._key_type(word[0]))
        entry = entry_at(self._file, start) if text.strip() else None
        if match is not None and match[2] in ("func", "name") and entry is not None:
            yield from _schema_tokens(entry)
        elif self._field not in ("func", "name"):
            names = self._formula_names(entry)
            for word in _WORD.finditer(text, value):
                type = self._value_type(word[0], names, is_called=_CALL.match(text, word.end()) is not None)
                if type:
                    yield WordToken(start + word.start(), start + word.end(), type)

    def _key_type(self, word: str) -> str:
        if self._field == "dispatch" and (word in KEYS or word in LIBRARY_KEYS):
            return "enumMember"
        is_argument = self._kind is DERIVATIVES and self._field not in NO_FORMULAS
        return "parameter" if is_argument else "property"

    def _formula_names(self, entry: OperatorEntry | None) -> dict[str, str]:
        if self._kind is not DERIVATIVES or entry is None or self._field in NO_FORMULAS:
            return {}
        return formula_names(FormulaPlace(entry, self._field))

    def _value_type(self, word: str, names: dict[str, str], *, is_called: bool) -> str:
        name = word.partition(".")[0]
        if names:
            kind = "parameter" if names.get(name, "").startswith("argument") else "variable"
            return "function" if is_called and name not in names else kind if name in names else ""
        if self._field == "tags":
            return "decorator"
        is_function = self._field in ("dispatch", "structured_delegate", "autogen")
        return "function" if is_function or (self._kind is BACKEND and "." in word) else ""


def _schema_tokens(entry: OperatorEntry) -> Iterator[WordToken]:
    """The words of a schema: the name, then types, arguments and results."""
    start = entry.place.start
    yield WordToken(start, entry.place.end, "function")
    arguments = {offset: name for name, offset, _ in schema_names(entry.schema)}
    for word in re.finditer(r"[A-Za-z_]\w*", entry.schema[entry.place.end - start :]):
        offset = word.start() + entry.place.end - start
        type = "parameter" if offset in arguments else "type" if word[0] in BASE_TYPES else ""
        if type:
            yield WordToken(start + offset, start + offset + len(word[0]), type)
