"""Calls of the variable of a block of registrations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate

from opwright.dialects.names import CPP_WORDS
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


def local_names(body: Sequence[Token], calls: Iterable[CallChain]) -> set[str]:
    """The names that a block declares beside these calls: variables, functions, and what `using` gives it.

    >>> from opwright.syntax.cpp_tokens import cpp_tokens
    >>> text = "using b::f; auto g = &h; at::Tensor k(const T& x); T (*p)(T) = &q; for (auto& [n, r] : rows) {} s(t);"
    >>> sorted(local_names([*cpp_tokens(text)], ()))
    ['T', 'f', 'g', 'k', 'n', 'p', 'r']
    """
    called = {index for chain in calls for index in range(chain.first, chain.last + 1)}
    names: set[str] = set()
    statement: list[Token] = []
    for index, token in enumerate(body):
        if token.text in (";", "{", "}"):
            names.update(declared_names(statement))
            statement = []
        elif index not in called:
            statement.append(token)
    return names - CPP_WORDS


def declared_names(statement: Sequence[Token]) -> Iterator[str]:
    """The names that a statement declares, and perhaps others of its types.

    >>> from opwright.syntax.cpp_tokens import cpp_tokens
    >>> texts = ("struct A", "enum class B", "using C = int", "constexpr int D = 7", "at::Tensor E(int n)")
    >>> [[*declared_names([*cpp_tokens(text)])][-1] for text in texts]
    ['A', 'B', 'C', 'D', 'E']
    """
    texts = [token.text for token in statement]
    if texts[:1] == ["using"] or texts[:1] == ["namespace"]:
        yield from texts[1:2] if "=" in texts else texts[-1:] if texts[1:2] != ["namespace"] else ()
        return
    depths = [*accumulate((text == "(") - (text == ")") for text in texts)]
    end = next((index for index, text in enumerate(texts) if text == "=" and not depths[index]), None)
    is_inside = end is not None or texts[:1] in (["for"], ["if"], ["while"], ["switch"])
    for index, token in enumerate(statement[:end]):
        before, after = texts[index - 1] if index else "", texts[index + 1 : index + 2]
        if token.kind != "name" or after == ["::"] or before in ("", "return", ".", "->", "::"):
            continue
        is_typed = before.isidentifier() or before in (">", "*", "&", "[", ",")
        if (is_inside or not depths[index]) and (end is not None or is_typed):
            yield token.text


def call_chains(body: Sequence[Token], variable: str, source: CppSource) -> Iterator[CallChain]:
    """The calls of methods of a variable in a block, those that follow each other together."""
    index = 0
    while index + 3 < len(body):
        is_member = index > 0 and body[index - 1].text in (".", "::")
        if body[index].text != variable or body[index + 1].text != "." or is_member:
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
            given = arguments(body, opening, has_types=True)
            calls.append(RegistrationCall(method, given, place, body[first].conditions, is_split))
            index = end
        if calls:
            yield CallChain(first, index, calls)
        index += 1


def is_split_up(tokens: Sequence[Token]) -> bool:
    """Whether conditions of the preprocessor choose some of the tokens."""
    return any(token.conditions != tokens[0].conditions for token in tokens)
