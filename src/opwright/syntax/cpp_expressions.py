"""Reads the brackets, literals and names of C++ expressions in input files.

A compiler checks the rest. What is found here has a place in the file of the user, and not in generated code.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from opwright.dialects.names import CPP_WORDS
from opwright.source.lazy import lazy_pattern
from opwright.source.records import NamedTuple

_TOKEN: Final = lazy_pattern(
    r"""
    (?P<space>\s+|//[^\n]*|/\*.*?\*/)
    |(?P<literal>(?:u8|[uUL])?"(?:[^"\\\n]|\\.)*"|(?:u8|[uUL])?'(?:[^'\\\n]|\\.)+'|\.?[0-9](?:[eEpP][+-]|['\w.])*)
    |(?P<name>[A-Za-z_]\w*)
    |(?P<open>[(\[{])
    |(?P<close>[)\]}])
    |(?P<member>->|\.|::)
    |(?P<other>.)
    """,
    # The flags VERBOSE and DOTALL of `re`.
    64 | 16,
)
_BRACKETS: Final = {")": "(", "]": "[", "}": "{"}


class _CppToken(NamedTuple):
    """A token: its kind, its text, and its offsets."""

    kind: str
    text: str
    start: int
    end: int


def _tokens(text: str) -> Iterator[_CppToken]:
    """Tokens of a text without blanks and comments."""
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup
        if kind is not None and kind != "space":
            yield _CppToken(kind, match[0], match.start(), match.end())


_CLOSING: Final = {opening: closing for closing, opening in _BRACKETS.items()}


class CppFault(NamedTuple):
    """What is wrong with a text, and the offsets of the part that is."""

    message: str
    start: int
    end: int


class CppName(NamedTuple):
    """A name in an expression, and its offsets. With `is_called`, arguments follow it."""

    name: str
    start: int
    end: int
    is_called: bool = False


def find_cpp_fault(text: str, *, has_statements: bool = False) -> CppFault | None:
    """Why a text is no C++ expression, or no statements; None if nothing is known to be wrong with it.

    >>> find_cpp_fault("at::sum(self.sizes()[0])") is None, find_cpp_fault("f(self.sizes()")
    (True, CppFault(message='`(` is not closed', start=1, end=2))
    """
    opened: list[_CppToken] = []
    last = None
    for token in _tokens(text):
        last = token
        if token.kind == "open":
            opened.append(token)
        elif token.kind == "close":
            if not opened or opened[-1].text != _BRACKETS[token.text]:
                message = f"`{token.text}` closes nothing"
                if opened:
                    message = f"`{token.text}` where `{_CLOSING[opened[-1].text]}` closes the bracket"
                return CppFault(message, token.start, token.end)
            opened.pop()
        elif token.text in "\"'":
            return CppFault("the literal does not end", token.start, len(text))
        elif token.text == ";" and not opened and not has_statements:
            return CppFault("an expression has no `;`", token.start, token.end)
    if opened:
        return CppFault(f"`{opened[-1].text}` is not closed", opened[-1].start, opened[-1].end)
    if last is None:
        return CppFault("it is empty", 0, len(text))
    return None


def free_names(text: str) -> list[CppName]:
    """Names of an expression that are no members, no qualified names, and no words of C++.

    >>> [found.name for found in free_names("at::sum(self.sizes(), dims) + scale(x, true)")]
    ['self', 'dims', 'scale', 'x']
    """
    tokens = list(_tokens(text))
    names = []
    for place, token in enumerate(tokens):
        before = tokens[place - 1] if place else None
        after = tokens[place + 1] if place + 1 < len(tokens) else None
        is_part = (before is not None and before.kind == "member") or (after is not None and after.text == "::")
        if token.kind == "name" and not is_part and token.text not in CPP_WORDS:
            is_called = after is not None and after.text == "("
            names.append(CppName(token.text, token.start, token.end, is_called))
    return names


def split_cpp(text: str, separator: str = ",") -> list[tuple[int, int]]:
    """Offsets of the parts of a text between separators that are in no brackets and no literals, without blanks.

    >>> [" f(a, b) , c"[start:end] for start, end in split_cpp(" f(a, b) , c")]
    ['f(a, b)', 'c']
    """
    depth, begin, parts = 0, 0, []
    for token in _tokens(text):
        depth += (token.kind == "open") - (token.kind == "close")
        if token.text == separator and not depth:
            parts.append((begin, token.start))
            begin = token.end
    return [_strip(text, *part) for part in (*parts, (begin, len(text)))]


def _strip(text: str, start: int, end: int) -> tuple[int, int]:
    part = text[start:end]
    first = start + len(part) - len(part.lstrip())
    return first, max(end - len(part) + len(part.rstrip()), first)
