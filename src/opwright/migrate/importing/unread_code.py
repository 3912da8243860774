"""Code that gets a library of registrations and was not read: only the process that runs it knows what it registers."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Final

from opwright.migrate.importing.registration import RegistrationStatement, SourcePlace
from opwright.source.diagnostic import shorten
from opwright.source.records import NamedTuple
from opwright.syntax.cpp_source import CppSource
from opwright.syntax.cpp_tokens import Token, arguments, closing_index, text_of

#: Words that begin statements which register nothing by themselves.
_CONTROL: Final = frozenset((
    "if", "else", "for", "while", "do", "switch", "case", "return", "using", "typedef", "static_assert", "try", "catch",
))  # fmt: skip
_BOUNDARIES: Final = (";", "{", "}")
_OBJECT_MACROS: Final = ("MAKE_TORCH_LIBRARY", "MAKE_TORCH_LIBRARY_IMPL")
_TEXT: Final = re.compile(r'"(\w+)"')
#: What a library of registrations is made for, and what registers without one.
_KINDS: Final = frozenset(("DEF", "FRAGMENT", "IMPL"))
_OF_DISPATCHER: Final = frozenset(("registerDef", "registerImpl", "registerFallback", "registerName"))
_SCHEMA: Final = re.compile(r'"\s*(?:(\w+)::)?(\w+(?:\.\w+)?)\s*\([^"]*\)\s*->\s*[\w(]')
_OPERATOR: Final = re.compile(r'"(?:(\w+)::)?(\w+(?:\.\w+)?)"')


class UnreadCode(NamedTuple):
    """A place with code that may register kernels: for which namespace, key and operator, as far as these are known.

    Code that names no key may register any kernel, unless it `defines` operators alone.
    """

    place: SourcePlace
    text: str
    namespace: str
    key: str
    operator: str = ""
    defines: bool = False


def unread_statements(body: Sequence[Token], read: Iterable[tuple[int, int]], variable: str) -> Iterator[list[Token]]:
    """The statements of a block that get its variable, or call something, beside the tokens that were read.

    >>> from opwright.syntax.cpp_tokens import cpp_tokens
    >>> body = [*cpp_tokens('m.def("f"); int n = 0; UNARY(DEFINE) if (on()) { more(m); } auto& l = m; l.def("g");')]
    >>> [" ".join(token.text for token in row) for row in unread_statements(body, [(0, 5)], "m")]
    ['UNARY ( DEFINE )', 'more ( m )', 'auto & l = m', 'l . def ( "g" )']
    """
    gone = {index for first, last in read for index in range(first, last + 1)}
    statement: list[Token] = []
    index = 0
    while index <= len(body):
        text = body[index].text if index < len(body) else ";"
        is_over = text in _BOUNDARIES or index in gone
        if not is_over:
            end = closing_index(body, index) if text in ("(", "[") else index
            statement += [body[at] for at in range(index, min(end + 1, len(body))) if at not in gone]
            index = max(end, index)
            # What follows a bracket may be no part of the statement: it was a macro, or a condition.
            is_call = text == "(" and len(statement) > 2 and statement[0].kind == "name" and statement[1].text == "("
            is_over = is_call and (index + 1 >= len(body) or body[index + 1].kind == "name")
        if is_over:
            if _may_register(statement, variable):
                yield statement
            statement = []
        index += 1


def _may_register(statement: Sequence[Token], variable: str) -> bool:
    if any(token.text == variable for token in statement):
        return True
    calls = any(token.kind == "name" and after.text == "(" for token, after in pairwise(statement))
    return calls and statement[0].text not in _CONTROL


def unread_code(
    body: Sequence[Token], read: Iterable[tuple[int, int]], variable: str, block: UnreadCode
) -> Iterator[tuple[UnreadCode, bool]]:
    """The statements of a block that were not read, and whether they may register something by its variable."""
    variables = {variable}
    for statement in unread_statements(body, read, variable):
        place = SourcePlace(block.place.path, statement[0].line, statement[-1].line, statement[0].start)
        gets = _gets_library(statement, variables)
        texts = [token.text for token in statement]
        if gets and "=" in texts[1:]:
            variables.add(texts[texts.index("=", 1) - 1])
        yield block._replace(place=place, text=f"`{shorten(text_of(statement))}`"), gets


def _gets_library(statement: Sequence[Token], variables: Collection[str]) -> bool:
    """Whether a statement names one of these variables, or calls what registers, or is a macro, which may."""
    is_macro = len(statement) > 1 and statement[0].text.isupper() and statement[1].text == "("
    registers = any(
        before.text in (".", "->") and token.text in ("def", "impl") for before, token in pairwise(statement)
    )
    return is_macro or registers or any(token.text in variables for token in statement)


def code_outside(
    source: CppSource, read: Iterable[tuple[int, int]], macros: Collection[str] = ()
) -> Iterator[UnreadCode]:
    """Code beside what was read, by its first and last characters, that makes or uses libraries of registrations.

    These are libraries themselves, whatever holds them, as each names its kind and its namespace; calls of the
    dispatcher; schemas; kernels that are registered by the name of an operator; and the names of these macros, which
    other macros get.

    >>> from opwright.syntax.cpp_source import parse_cpp
    >>> text = 'auto l = new Lib(Lib::DEF, "a"); void f(L& l) { l.def("g(Tensor x) -> Tensor"); l.impl("h", &h); }'
    >>> [(code.text, code.namespace, code.operator) for code in code_outside(parse_cpp("a.cpp", text), ())]
    [('a library of `a`', 'a', ''), ('the schema of `g`', '', 'g'), ('`impl("h", ...)`', '', 'h')]
    """
    ends = sorted(read)
    tokens = source.tokens
    at = 0
    for index, token in enumerate(tokens):
        while at < len(ends) and ends[at][1] <= token.start:
            at += 1
        if at < len(ends) and ends[at][0] <= token.start:
            continue
        texts = [following.text for following in tokens[index + 1 : index + 4]]
        place = SourcePlace(source.path, token.line, token.line, token.start)
        before = tokens[index - 1].text if index else ""
        owner = tokens[index - 2].text if index > 1 and before == "::" else ""
        if token.text in _KINDS and owner and texts and (texts[0] == "," or owner == "Library"):
            given = texts[1] if texts[0] == "," and len(texts) > 1 else ""
            namespace = given.strip('"')
            told = f"a library of `{namespace}`" if given else f"a library of the kind `{token.text}`"
            yield UnreadCode(place, told, namespace if _TEXT.fullmatch(given) else "", "")
        elif token.text in _OBJECT_MACROS and texts[:1] == ["("]:
            words = [text_of(part) for part in arguments(tokens, index + 1)]
            name = shorten(f"{token.text}({', '.join(words)})")
            yield UnreadCode(place, f"the library `{name}`", words[0], "")
        elif token.text == "class_" and owner == "torch" and texts[:1] == ["<"]:
            yield UnreadCode(place, f"the class `{shorten(texts[1])}` of TorchScript", "", "", defines=True)
        elif token.text in _OF_DISPATCHER and texts[:1] == ["("] and before in (".", "->"):
            yield UnreadCode(place, f"`{token.text}` of the dispatcher", "", "")
        elif token.text.startswith("aoti_torch_library_") and texts[:1] == ["("]:
            yield UnreadCode(place, f"`{token.text}`", "", "")
        elif token.kind == "name" and token.text in macros:
            yield UnreadCode(place, f"the macro `{token.text}`", "", "")
        elif token.kind == "text" and (schema := _SCHEMA.match(token.text)) is not None:
            yield UnreadCode(place, f"the schema of `{schema[2]}`", schema[1] or "", "", schema[2], defines=True)
        elif token.text == "impl" and before in (".", "->") and texts[:1] == ["("]:
            operator = _OPERATOR.fullmatch(texts[1]) if len(texts) > 1 else None
            if operator is not None:
                yield UnreadCode(place, f'`impl("{operator[2]}", ...)`', operator[1] or "", "", operator[2])


def with_unread(
    statements: Sequence[RegistrationStatement], unread: Iterable[UnreadCode]
) -> list[RegistrationStatement]:
    """Statements with one for each operator and each place that may register a kernel for it."""
    rows = [*statements]
    operators = {row.operator: row for row in statements if row.schema}
    for code in unread:
        if code.defines:
            continue
        key = code.key or "Autograd"
        rows += [
            RegistrationStatement(
                namespace, name, code.place, keys=(key,), by_hand=code.text, is_stable=row.is_stable, is_unread=True
            )
            for (namespace, name), row in operators.items()
            if code.namespace in ("", namespace) and code.operator in ("", name)
        ]
    return rows
