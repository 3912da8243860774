"""Which statements of a block always run: those that no condition, loop or earlier return decides about."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Collection, Sequence
from typing import Final

from opwright.syntax.cpp_tokens import Token, closing_index

#: What the reader says of a registration that a branch decides about.
AT_RUN_TIME: Final = "a condition that is evaluated at run time decides whether it is registered"
_JUMPS: Final = frozenset(("return", "goto", "throw", "co_return"))
#: Macros that are whole statements, with their semicolon.
_OF_PYTORCH: Final = re.compile(r"KERNEL(?:_[A-Z_]+)?")
_BOUNDARIES: Final = (";", "{", "}")
#: What may stand between the beginning of a statement and the value that it declares.
_DECLARING: Final = frozenset(("=", "&", "*", "::", "<", ">", "auto", "const", "static"))


class AlwaysRun:
    """The statements of a body of C++ that run whenever the body does.

    A call of a macro for registrations, or of what gets one, is a statement, even without a semicolon.

    >>> from opwright.syntax.cpp_tokens import cpp_tokens
    >>> body = [*cpp_tokens("a(); if (x) b(); auto& y = c(); EACH(DEF) d(); EACH(x) e(); if (x) return; f();")]
    >>> always = AlwaysRun(body, {"DEF"})
    >>> {token.text: always.runs(index) for index, token in enumerate(body) if token.text in "abcdef"}
    {'a': True, 'b': False, 'c': True, 'd': True, 'e': False, 'f': False}
    """

    def __init__(self, body: Sequence[Token], registering: Collection[str] = ()) -> None:
        self._body = body
        self._starts, self._end = _starts(body, registering)

    def is_behind_jump(self, token: Token) -> bool:
        """Whether something before a token of the body may leave it."""
        return self._end < len(self._body) and token.start > self._body[self._end].start

    def runs(self, index: int) -> bool:
        """Whether such a statement begins here, or declares a variable with the value that begins here."""
        at = bisect_right(self._starts, index) - 1
        if at < 0 or self._starts[at] == index:
            return at >= 0
        before = self._body[self._starts[at] : index]
        return before[-1].text == "=" and all(
            token.text in _DECLARING or (token.kind == "name" and token.text not in ("if", "else", "for", "do"))
            for token in before
        )


def _starts(body: Sequence[Token], registering: Collection[str]) -> tuple[list[int], int]:
    """The indices of tokens that begin statements which always run, and that of what may leave the body."""
    starts: list[int] = []
    begins = True
    has_lambda = False
    index = 0
    while index < len(body):
        text = body[index].text
        if text in _JUMPS:
            # What comes behind it runs only sometimes.
            break
        if begins and text not in _BOUNDARIES and _begins_in_each_branch(body, index):
            starts.append(index)
            has_lambda = False
        if text == "{" and begins:
            index += 1
            continue
        if text in ("(", "[", "{"):
            end = closing_index(body, index)
            following = body[end + 1].text if end + 1 < len(body) else ""
            has_lambda = has_lambda or (text == "[" and following in ("(", "{"))
            if text == "{" and not has_lambda and any(token.text in _JUMPS for token in body[index:end]):
                break
            is_call = text == "(" and starts[-1:] == [index - 1]
            is_macro = is_call and (
                _OF_PYTORCH.fullmatch(body[index - 1].text)
                or any(token.text in registering for token in body[index - 1 : end])
            )
            begins = text == "{" or bool(is_macro)
            index = end + 1
            continue
        begins = text in _BOUNDARIES
        index += 1
    return starts, index


def _begins_in_each_branch(body: Sequence[Token], index: int) -> bool:
    """Whether what stands before a token ends a statement in each branch of the preprocessor."""
    own = set(body[index].conditions)
    before = index - 1
    seen: tuple[str, ...] | None = None
    while before >= 0 and not own.issuperset(body[before].conditions):
        if body[before].conditions != seen:
            seen = body[before].conditions
            if body[before].text not in _BOUNDARIES:
                return False
        before -= 1
    return before in (-1, index - 1) or body[before].text in _BOUNDARIES


def declares_always(head: Sequence[Token]) -> bool:
    """Whether a declaration always makes the value behind these tokens.

    >>> from opwright.syntax.cpp_tokens import cpp_tokens
    >>> [declares_always([*cpp_tokens(text)]) for text in ("static auto r = torch::", "int r = on() && torch::")]
    [True, False]
    """
    words = {token.text for token in head if token.kind == "name"}
    signs = [token.text for token in head if token.kind != "name"]
    return words.isdisjoint(("if", "else", "for", "while", "return")) and set(signs) <= {*_DECLARING, "[", "]", '"C"'}
