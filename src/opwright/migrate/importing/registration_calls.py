"""Calls of the variable of a block of registrations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from opwright.migrate.importing.registration import SourcePlace
from opwright.source.records import NamedTuple
from opwright.syntax.cpp_source import CppSource
from opwright.syntax.cpp_tokens import Token, arguments, closing_index


class RegistrationCall(NamedTuple):
    """A call that registers something, with what the block around it says.

    Of one that `is_split`, conditions of the preprocessor choose parts.
    """

    method: str
    arguments: Sequence[Sequence[Token]]
    place: SourcePlace
    conditions: tuple[str, ...]
    is_split: bool = False


class CallChain(NamedTuple):
    """Calls of a variable that follow each other: the indices of their first and last token, and the calls."""

    first: int
    last: int
    calls: Sequence[RegistrationCall]


def call_chains(body: Sequence[Token], variable: str, source: CppSource) -> Iterator[CallChain]:
    """The calls of methods of a variable in a block, those that follow each other together."""
    index = 0
    while index + 3 < len(body):
        if (
            body[index].text != variable
            or body[index + 1].text != "."
            or (index and body[index - 1].text in (".", "::"))
        ):
            index += 1
            continue
        first, calls = index, []
        while index + 3 < len(body) and body[index + 1].text == ".":
            method, opening = body[index + 2].text, index + 3
            if body[opening].text != "(":
                break
            end = closing_index(body, opening)
            after = body[end + 1] if end + 1 < len(body) else None
            last = body[min(end, len(body) - 1)] if after is None or after.text != ";" else after
            place = SourcePlace(source.path, body[first].line, last.line, body[first].start)
            is_split = is_split_up(body[first : end + 1])
            calls.append(RegistrationCall(method, arguments(body, opening), place, body[first].conditions, is_split))
            index = end
        if calls:
            yield CallChain(first, index, calls)
        index += 1


def is_split_up(tokens: Sequence[Token]) -> bool:
    """Whether conditions of the preprocessor choose some of the tokens."""
    return any(token.conditions != tokens[0].conditions for token in tokens)
