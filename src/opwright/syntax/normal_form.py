"""Normal form of a schema that is spelt as PyTorch's dispatcher takes it.

The dispatcher takes any blanks, `Tensor!` for a tensor that is written and shares its memory with no other value, and
parentheses around a single return.

>>> normal_form("f( Tensor! x,int n = -1 )->(Tensor)", 0).text
'f(Tensor(a!) x, int n=-1) -> Tensor'
"""

from __future__ import annotations

import re
import string
from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate, count
from typing import Final

from opwright.schema.fault import SchemaFault
from opwright.source import codes
from opwright.source.records import mutable_fields

_TOKEN: Final = re.compile(
    r"(?P<blank>[ \t\r\f\v]+|\\\n|\#[^\n]*)|(?P<line>\n)"
    r"|(?P<word>[A-Za-z_][A-Za-z0-9_]*|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?j?\w*"
    r"|\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*')"
    r"|(?P<sign>->|\.\.\.|::|.)"
)
#: Types with parameters, whose parentheses hold no alias annotation.
PARAMETRIC_TYPES: Final = ("Dict", "Future", "RRef", "Await")
#: Schemas of a plain spelling, which are in normal form. Most are, and need no tokens.
_PLAIN_TYPE: Final = rf"(?!(?:{'|'.join(PARAMETRIC_TYPES)})\()[a-zA-Z_]\w*(?:\([a-z]\w*!?\))?(?:\[\d*\])?\??"
_PLAIN_ITEM: Final = r"-?\d+(?:\.\d+)?(?:e-?\d+)?|[a-zA-Z_]\w*"
_PLAIN_ARGUMENT: Final = (
    rf"(?:\*|{_PLAIN_TYPE} [a-zA-Z_]\w*(?:=(?:{_PLAIN_ITEM}|\[(?:(?:{_PLAIN_ITEM})(?:, (?:{_PLAIN_ITEM}))*)?\]))?)"
)
_PLAIN_RETURN: Final = rf"{_PLAIN_TYPE}(?: [a-zA-Z_]\w*)?"
_PLAIN: Final = re.compile(
    rf"(?:[a-zA-Z_]\w*::)?[a-zA-Z_]\w*(?:\.[a-zA-Z_]\w*)?\((?:{_PLAIN_ARGUMENT}(?:, {_PLAIN_ARGUMENT})*)?\)"
    rf" -> (?:{_PLAIN_TYPE}|\((?:{_PLAIN_RETURN}(?:, {_PLAIN_RETURN})+)?\))",
    re.ASCII,
)
_CLOSING: Final = {"(": ")", "[": "]", "{": "}"}
_ARROW: Final = " -> "
_SPELT: Final = {",": ", ", "->": _ARROW}
#: What a blank separates from a word that follows.
_BEFORE_WORD: Final = ("]", ")", "?")


class NormalForm:
    """Normal form of a text: `text`, and where each of its parts was."""

    __slots__ = ("_ends", "_given", "_starts", "text")

    def __init__(self, parts: list[tuple[str, int, int]]) -> None:
        """`parts` have their text and the offsets at which they were given; there is at least one."""
        self.text: Final = "".join([text for text, _, _ in parts])
        self._given: Final = [start for _, start, _ in parts]
        self._ends: Final = [end for _, _, end in parts]
        self._starts: Final = [0, *accumulate([len(text) for text, _, _ in parts[:-1]])]

    def given_offset(self, offset: int) -> int:
        """Offset in the given text of an offset in the normal form."""
        index = max(bisect_right(self._starts, offset) - 1, 0)
        return min(self._given[index] + offset - self._starts[index], self._ends[index])

    def given_fault(self, fault: SchemaFault) -> SchemaFault:
        """A fault of the normal form as one of the given text."""
        start = self.given_offset(fault.start)
        end = self.given_offset(fault.end - 1) + 1 if fault.end > fault.start else start
        return fault.replace(start=start, end=end, others=tuple(map(self.given_fault, fault.others)))


@mutable_fields
class _Token:
    """A part of a text, and what it becomes in the normal form."""

    text: str
    start: int
    end: int
    is_word: bool


@mutable_fields
class _Bracket:
    """A bracket that is open: its token, what closes it, and whether it is around an annotation or around returns."""

    opening: int
    closing: str
    is_annotation: bool
    is_returns: bool
    has_comma: bool = False


def normal_form(text: str, start: int) -> NormalForm:
    """Normal form of the schema in `text` from `start` on. Raises SchemaFault for a line break between its parts.

    Only blanks, `!` and parentheses around one return become others, so the normal form of a text that is not a schema
    is not one either.
    """
    if _PLAIN.fullmatch(text, start):
        return NormalForm([(text[start:], start, len(text))])
    tokens = _tokens(text, start)
    _rewrite(tokens)
    parts: list[tuple[str, int, int]] = []
    before = ""
    was_word = False
    for token in tokens:
        if token.is_word and (was_word or before in _BEFORE_WORD):
            parts.append((" ", token.start, token.start))
        parts.append((token.text, token.start, token.end))
        was_word, before = token.is_word, token.text[-1:]
    # A text without parts is an empty one at its start, so that a fault has a place.
    return NormalForm(parts or [("", start, start)])


def _tokens(text: str, start: int) -> list[_Token]:
    tokens: list[_Token] = []
    line: re.Match[str] | None = None
    depth = 0
    for match in _TOKEN.finditer(text, start):
        if match.lastgroup == "line":
            line = line or (match if depth == 0 and tokens else None)
        elif match.lastgroup != "blank":
            if line is not None:
                message = "a line break outside parentheses, where the dispatcher expects the end of the schema"
                raise SchemaFault(codes.SCHEMA_SYNTAX, message, line.start(), line.end(), help="write a blank")
            if match.group() in ("'", '"'):
                raise SchemaFault(codes.BAD_DEFAULT, "a string that does not end", match.start(), len(text))
            depth += (match.group() in _CLOSING) - (match.group() in _CLOSING.values())
            tokens.append(_Token(match.group(), *match.span(), match.lastgroup == "word"))
    return tokens


def _rewrite(tokens: list[_Token]) -> None:
    """Writes out `!`, and leaves out the parentheses around a single return."""
    letters = _free_names({token.text for token in tokens})
    brackets: list[_Bracket] = []
    has_arrow = False
    for index, token in enumerate(tokens):
        text = token.text
        if text in _CLOSING:
            before = tokens[index - 1] if index else token
            is_annotation = bool(brackets) or (has_arrow and before.text != _ARROW)
            is_annotation = is_annotation and text == "(" and _has_annotation(before)
            is_returns = not brackets and before.text == _ARROW
            brackets.append(_Bracket(index, _CLOSING[text], is_annotation, is_returns))
        elif brackets and text == brackets[-1].closing:
            _close(brackets.pop(), tokens, index)
        elif text == "," and brackets:
            brackets[-1].has_comma = True
        elif text == "!" and not (brackets and brackets[-1].is_annotation):
            token.text = f"({next(letters)}!)"
        has_arrow = has_arrow or (text == "->" and not brackets)
        token.text = _SPELT.get(text, token.text)


def _has_annotation(before: _Token) -> bool:
    """Whether parentheses after a part of a type are around alias sets, and not around other types."""
    return (before.is_word and before.text not in PARAMETRIC_TYPES) or before.text in (")", "]", "?")


def _close(bracket: _Bracket, tokens: list[_Token], index: int) -> None:
    """Leaves out the parentheses around a single return, unless it is a tuple."""
    first = tokens[bracket.opening + 1]
    is_all = bracket.is_returns and index == len(tokens) - 1
    if is_all and not bracket.has_comma and first is not tokens[index] and first.text != "(":
        tokens[bracket.opening].text = tokens[index].text = ""


def _free_names(taken: set[str]) -> Iterator[str]:
    """Names of alias sets that a schema does not have yet: letters, then letters with numbers."""
    for number in count():
        for letter in string.ascii_lowercase:
            name = f"{letter}{number or ''}"
            if name not in taken:
                yield name
