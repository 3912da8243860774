"""What the words of a file are, for colours: operators, types, arguments, keys, kernels, tags, values of formulas."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise
from typing import Any, Final

from lsprotocol import types as lsp
from pygls.workspace import PositionCodec

from opwright.backends.rows import BACKEND
from opwright.dialects.dialect import Dialect
from opwright.dialects.table import DERIVATIVES
from opwright.model.dispatch_key import KEYS, LIBRARY_KEYS
from opwright.schema.types import BASE_TYPES
from opwright.source.records import NamedTuple
from opwright.source.span import SourceText
from opwright.source.text import SourceFile
from opwright.tools.lsp.argument_places import schema_names
from opwright.tools.lsp.documents import position_at
from opwright.tools.lsp.features import TOKEN_TYPES
from opwright.tools.lsp.formulas import NO_FORMULAS, FormulaPlace, formula_names
from opwright.tools.lsp.operators import OperatorEntry, entries_of, entry_at
from opwright.tools.lsp.project import kind_of
from opwright.tools.lsp.server import OperatorServer


class WordToken(NamedTuple):
    """A word of a file, and what it is."""

    start: int
    end: int
    type: str


_FIELD: Final = re.compile(r"^( *(?:- +)?)([A-Za-z_][\w, ]*?|'[^']*'|\"[^\"]*\") *:(?=\s|$)")
_WORD: Final = re.compile(r"[A-Za-z_]\w*(?:::\w+)*(?:\.\w+)?")
_CALL: Final = re.compile(r"\s*\(")
#: The fields with the schemas of entries.
_NAMES: Final = ("func", "name")
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
    """The tokens of the entries between two offsets, as the protocol has them: five numbers each.

    These are the lines and units from the token before, the length, the type, and no modifiers.
    """
    data: list[int] = []
    kind, codec, last_line = kind_of(file), server.workspace.position_codec, 0
    # The parts are what precedes the entries, and each entry.
    edges = [0, *[entry.entry.start for entry in entries_of(file)], len(file.text)]
    for first, last in pairwise(edges):
        if first <= end and start <= last and (part := _encoded_part(kind, file.text[first:last], codec)).data:
            line = file.line_and_column(first)[0] - 1
            data += (line + part.data[0] - last_line, *part.data[1:])
            last_line = line + part.last_line
    return data


class _EncodedPart(NamedTuple):
    """The numbers of the tokens of a part, counted from its first line, and the line of its last token."""

    data: tuple[int, ...]
    last_line: int


@lru_cache(maxsize=8192)
def _encoded_part(kind: Dialect[Any] | None, text: str, codec: PositionCodec) -> _EncodedPart:
    """Editors ask for all tokens after each edit, and the other entries have not changed then."""
    data: list[int] = []
    line = column = 0
    file = SourceText("", text)
    for token in tokens_of(kind, text):
        first, last = (position_at(file, offset, codec) for offset in (token.start, token.end))
        distance = first.character - (column if first.line == line else 0)
        data += [first.line - line, distance, last.character - first.character, TOKEN_TYPES.index(token.type), 0]
        line, column = first.line, first.character
    return _EncodedPart(tuple(data), line)


def tokens_of(kind: Dialect[Any] | None, text: str) -> Iterator[WordToken]:
    """The words of an entry of a file, or of what precedes the entries, in order.

    >>> from opwright.dialects.table import NATIVE_FUNCTIONS
    >>> text = "- func: f.out(Tensor x) -> Tensor\\n  dispatch:\\n    CPU: f_cpu\\n  tags: core\\n"
    >>> shown = [(text[token.start:token.end], token.type) for token in tokens_of(NATIVE_FUNCTIONS, text)]
    >>> shown[:4]
    [('func', 'property'), ('f.out', 'function'), ('Tensor', 'type'), ('x', 'parameter')]
    >>> shown[6:]
    [('CPU', 'enumMember'), ('f_cpu', 'function'), ('tags', 'property'), ('core', 'decorator')]
    """
    lines = _Lines(SourceText("", text), kind)
    for number in range(1, lines.file.line_count + 1):
        yield from lines.tokens(number)


class _Lines:
    """Reads the lines of a part in order."""

    def __init__(self, file: SourceText, kind: Dialect[Any] | None) -> None:
        self.file: Final = file
        self._kind: Final = kind
        self._entry: Final = entry_at(file, len(file.text))
        self._field = ""
        self._indent = len("  ")

    def tokens(self, number: int) -> Iterator[WordToken]:
        """The words of a line."""
        start = self.file.line_starts[number - 1]
        text = _COMMENT.sub("", self.file.line_text(number))
        match = _FIELD.match(text)
        value = 0 if match is None else match.end()
        if match is not None:
            if match[2] in _NAMES:
                self._indent = len(match[1])
            if len(match[1]) <= self._indent:
                self._field = match[2]
            for word in _WORD.finditer(text, match.start(2), match.end(2)):
                yield WordToken(start + word.start(), start + word.end(), self._key_type(word[0]))
        if match is not None and match[2] in _NAMES and self._entry is not None:
            yield from _schema_tokens(self._entry)
        elif self._field not in _NAMES:
            names = self._formula_names()
            for word in _WORD.finditer(text, value):
                type = self._value_type(word[0], names, is_called=_CALL.match(text, word.end()) is not None)
                if type:
                    yield WordToken(start + word.start(), start + word.end(), type)

    def _key_type(self, word: str) -> str:
        if self._field == "dispatch" and (word in KEYS or word in LIBRARY_KEYS):
            return "enumMember"
        is_argument = self._kind is DERIVATIVES and self._field not in NO_FORMULAS
        return "parameter" if is_argument else "property"

    def _formula_names(self) -> dict[str, str]:
        if self._kind is not DERIVATIVES or self._entry is None or self._field in NO_FORMULAS:
            return {}
        return formula_names(FormulaPlace(self._entry, self._field))

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
