"""Finds the `torch::autograd::Function` classes of C++ sources, and the functions that apply them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from typing import Final

from opwright.migrate.importing.registration import SourcePlace
from opwright.source.records import NamedTuple
from opwright.syntax.cpp_functions import statements, typed_parameters
from opwright.syntax.cpp_source import CppSource
from opwright.syntax.cpp_tokens import Token, arguments, closing_index, text_of

#: What `auto result = ...` and `return {result[0], result[1]}` have in their places.
_VARIABLE: Final = re.compile(r"[\w:<>&, ]*[ >&](\w+)=(.*)")
_TUPLE: Final = re.compile(r"return ?(?:std::make_tuple\(|std::tuple<.*>[({]|\{)(.*)[)}]")
_CONTROL: Final = frozenset(("if", "for", "while", "else", "switch", "do", "try"))


class AutogradClass(NamedTuple):
    """A class: the parameters of `forward` behind the context with their types, and the bodies of both functions.

    `context` and `gradients` are the names of the parameters of `backward`. `scope` are the namespaces around it.
    `hidden` is a function that it calls and that only its file can name, if there is one. `dispatched` are the
    operators that functions which `forward` calls find in the dispatcher.
    """

    name: str
    place: SourcePlace
    scope: tuple[str, ...]
    parameters: tuple[str, ...]
    types: tuple[str, ...]
    forward: Sequence[Token]
    forward_context: str
    backward: Sequence[Token]
    context: str
    gradients: str
    hidden: str = ""
    dispatched: tuple[str, ...] = ()


class AppliedClass(NamedTuple):
    """A function that applies a class: its name without namespaces, its parameters, and what it hands on.

    `results` is how many results of the class it returns, in their order; None if it does more than that.
    """

    function: str
    scope: tuple[str, ...]
    parameters: tuple[str, ...]
    given: tuple[str, ...]
    results: int | None
    place: SourcePlace


def autograd_classes(source: CppSource) -> Iterator[AutogradClass]:
    """Classes of a source that have both functions."""
    for statement in statements(source):
        texts = [token.text for token in statement.head]
        if not {"class", "struct"}.intersection(texts) or "Function" not in texts[2:] or not statement.body:
            continue
        methods: dict[str, tuple[list[tuple[str, str]], Sequence[Token]]] = {}
        for method in statements(source._replace(tokens=statement.body)):
            opening = next((index for index, token in enumerate(method.head) if token.text == "("), 0)
            if opening and method.body:
                methods[method.head[opening - 1].text] = (typed_parameters(method.head, opening), method.body)
        name = texts[max(index for index, text in enumerate(texts[:-1]) if text in ("class", "struct")) + 1]
        forward, backward = methods.pop("forward", None), methods.pop("backward", None)
        if forward is not None and backward is not None and forward[0] and len(backward[0]) == 2:
            first = statement.head[0]
            place = SourcePlace(source.path, first.line, statement.last_line, first.start)
            (context, *parameters), body = forward
            called = [token.text for token in backward[1] if token.text in methods]
            yield AutogradClass(
                name,
                place,
                statement.scope,
                tuple([name for _, name in parameters]),
                tuple([type for type, _ in parameters]),
                body,
                context[1],
                backward[1],
                backward[0][0][1],
                backward[0][1][1],
                next(iter(called), ""),
            )


def applied_classes(source: CppSource, names: Collection[str]) -> Iterator[tuple[str, AppliedClass]]:
    """Functions of a source that apply one of these classes, with the name of the class."""
    for statement in statements(source):
        opening = next((index for index, token in enumerate(statement.head) if token.text == "("), 0)
        body = statement.body
        texts = [token.text for token in body]
        applied = [
            index
            for index in range(3, len(body))
            if texts[index - 2 : index + 1] == ["::", "apply", "("] and texts[index - 3] in names
        ]
        if opening and applied:
            named = tuple([name for _, name in typed_parameters(statement.head, opening)])
            given = tuple(map(text_of, arguments(body, applied[0])))
            first = statement.head[0]
            place = SourcePlace(source.path, first.line, statement.last_line, first.start)
            results = _handed_on(body, applied[0]) if len(applied) == 1 else None
            function = AppliedClass(statement.head[opening - 1].text, statement.scope, named, given, results, place)
            yield body[applied[0] - 3].text, function


def _handed_on(body: Sequence[Token], opening: int) -> int | None:
    """How many results of a class a body returns in their order, if it does nothing else than to apply the class."""
    first = opening - 3
    while first > 1 and body[first - 1].text == "::":
        first -= 2
    value = text_of(body[first : closing_index(body, opening) + 1])
    *declared, returned = [text_of(statement) for statement, _ in simple_statements(body)] or [""]
    if declared:
        match = _VARIABLE.fullmatch(declared[0])
        if len(declared) > 1 or match is None or match[2] != value:
            return None
        value = match[1]
    if returned in (f"return {value}", f"return {value}[0]"):
        return 1
    several = _TUPLE.fullmatch(returned)
    items = several[1].split(", ") if several is not None else []
    return len(items) if items and items == [f"{value}[{index}]" for index in range(len(items))] else None


def simple_statements(body: Sequence[Token]) -> Iterator[tuple[Sequence[Token], bool]]:
    """Statements of a body, and whether each is one without a block, a loop or a condition."""
    start = index = 0
    while index < len(body):
        text = body[index].text
        if text in ("(", "[") or (text == "{" and body[start].text in ("return", "auto")):
            index = closing_index(body, index)
        elif text == "{":
            index = closing_index(body, index)
            if index + 1 >= len(body) or body[index + 1].text != ";":
                yield body[start : index + 1], body[start].text not in _CONTROL
                start = index + 1
        elif text == ";":
            if index > start:
                yield body[start:index], body[start].text not in _CONTROL
            start = index + 1
        index += 1
