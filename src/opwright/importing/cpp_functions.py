"""The functions that C++ sources declare, and the blocks and statements that register operators, with their scopes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from opwright.importing.cpp_tokens import CppSource, Token, arguments, closing_index, text_of
from opwright.source.named_tuple import NamedTuple
from opwright.source.patterns import lazy_pattern

__all__ = ["CppFunction", "Statement", "function_of", "parameters_of", "statements"]

#: A word that only macros have, in place of `static` or `inline`.
_MACRO: Final = lazy_pattern(r"[A-Z][A-Z0-9]*_[A-Z0-9_]*|__\w+")
_CLASSES: Final = frozenset(("class", "struct", "union", "enum"))


class Statement(NamedTuple):
    """A declaration or another statement outside of functions and classes: what is before its body, and the body.

    `scope` are the namespaces around it; an anonymous one is empty.
    """

    head: Sequence[Token]
    body: Sequence[Token]
    scope: tuple[str, ...]
    last_line: int


class CppFunction(NamedTuple):
    """A function: its name with its namespaces, its types as texts, and where it is declared.

    Only its own file can name one that `is_hidden`: it is static, or in an anonymous namespace.
    """

    name: str
    result: str
    parameters: tuple[str, ...]
    path: str
    is_hidden: bool


def statements(source: CppSource) -> Iterator[Statement]:
    """The statements of a source, those in namespaces too."""
    tokens = source.tokens
    scope: list[str | None] = []
    start = index = 0
    while index < len(tokens):
        text = tokens[index].text
        if text in ("(", "["):
            index = closing_index(tokens, index)
        elif text == "{":
            head = tokens[start:index]
            inner = _opened_namespace(head)
            if inner is not None:
                scope.append(inner)
            else:
                end = closing_index(tokens, index)
                line = tokens[min(end, len(tokens) - 1)].line
                yield Statement(head, tokens[index + 1 : end], _names(scope), line)
                index = end
            start = index + 1
        elif text == "}":
            if scope:
                scope.pop()
            start = index + 1
        elif text == ";":
            yield Statement(tokens[start:index], (), _names(scope), tokens[index].line)
            start = index + 1
        index += 1


def _names(scope: Sequence[str | None]) -> tuple[str, ...]:
    return tuple([name for name in scope if name is not None])


def _opened_namespace(head: Sequence[Token]) -> str | None:
    """The namespace that a brace opens: empty for an anonymous one; None for other braces."""
    texts = [token.text for token in head]
    if "namespace" in texts:
        return "".join(text for text in texts[texts.index("namespace") + 1 :] if text == "::" or text.isidentifier())
    return None


def function_of(statement: Statement, path: str) -> CppFunction | None:
    """The function that a statement declares or defines; None if it does neither."""
    head = statement.head
    opening = next((index for index, token in enumerate(head) if token.text == "("), 0)
    if opening < 2 or head[opening - 1].kind != "name":
        return None
    texts = [token.text for token in head[:opening]]
    if not _CLASSES.isdisjoint(texts) or not {"template", "using", "typedef", "=", "return", "operator"}.isdisjoint(
        texts
    ):
        return None
    first = opening - 1
    while first >= 2 and texts[first - 1] == "::" and head[first - 2].kind == "name":
        first -= 2
    typed = [token for token in head[:first] if token.text != "static" and not _MACRO.fullmatch(token.text)]
    typed = [token for token in typed if token.text != '"C"' and token.text != "extern"]
    if not typed:
        return None
    named = "".join(texts[first:])
    scope = [name for name in statement.scope if name]
    return CppFunction(
        "::".join([*scope, named]),
        text_of(typed),
        tuple(map(_type_of, parameters_of(head, opening))),
        path,
        "" in statement.scope or "static" in texts,
    )


def parameters_of(head: Sequence[Token], opening: int) -> list[Sequence[Token]]:
    """The parameters of a function. A comma between the angle brackets of a type divides none."""
    parameters: list[Sequence[Token]] = []
    depth = 0
    for part in arguments(head, opening):
        if depth:
            start = head.index(parameters[-1][0])
            parameters[-1] = head[start : head.index(part[-1]) + 1]
        else:
            parameters.append(part)
        depth += sum((token.text == "<") - (token.text == ">") for token in part)
    return parameters


def _type_of(parameter: Sequence[Token]) -> str:
    """The type of a parameter, without its name and its default."""
    texts = [token.text for token in parameter]
    if "=" in texts:
        parameter = parameter[: texts.index("=")]
    is_named = len(parameter) > 1 and parameter[-1].kind == "name" and parameter[-2].text not in ("::", "const")
    return text_of(parameter[:-1] if is_named else parameter)
