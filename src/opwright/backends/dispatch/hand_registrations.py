"""Kernels that PyTorch's sources register by hand for single operators, with the places where they do.

C++ sources are there in a source tree alone: blocks of `TORCH_LIBRARY_IMPL(aten, KEY, m)`, whose statements call
`m.impl`, or macros with the name of an operator, or with the names of an operator and of its overloads. For some
releases a table says what they register. Python's registrations for Meta are there in every PyTorch: functions under
`@register_meta`.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cache
from itertools import pairwise
from typing import Final

from opwright.backends.dispatch.kernel_loops import member_text
from opwright.backends.dispatch.meta_kernels import closing_bracket
from opwright.backends.dispatch.runtime_keys import KeyKind, RuntimeKey
from opwright.model.dispatch_key import META
from opwright.release.tables import data_rows
from opwright.release.view import Inputs
from opwright.source.records import NamedTuple
from opwright.source.span import SourceText
from opwright.syntax.budget import SourceBudget
from opwright.syntax.cpp_source import CppSource, parse_cpp
from opwright.syntax.cpp_tokens import Macro, MacroExpander, Token, arguments, closing_index, text_of


class HandPlace(NamedTuple):
    """A file of PyTorch, as its path in a source tree or wheel, and a line that registers a kernel."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


_INCLUDE: Final = re.compile(r"#include <((?:ATen|c10)/[\w/]+\.h)>")
#: What opens a block of registrations, and the namespace and the variable of such a block.
_BLOCK: Final = "TORCH_LIBRARY_IMPL"
_NAMESPACE: Final = "aten"
_VARIABLE: Final = "m"
#: What may stand around the name of an operator.
_SELECTIVE: Final = "TORCH_SELECTIVE_NAME"
#: Headers that nearly all sources include through others, with macros that join words.
_EVERYWHERE: Final = ("c10/macros/Macros.h", "torch/headeronly/macros/Macros.h", "c10/util/Exception.h")
#: Keys that C++ has a second name for.
_SAME_KEYS: Final = {"Autocast": "AutocastCUDA"}
#: A key whose kernels serve another one that has none.
_DECOMPOSITIONS: Final = {"FuncTorchBatched": ["FuncTorchBatchedDecomposition"]}
_REGISTER_META: Final = re.compile(r"^@register_meta\(", re.MULTILINE)
_OPERATOR: Final = re.compile(r"\baten\.(\w+)(?:\.(\w+))?")
#: What stands for all overloads of an operator in Python.
_ALL: Final = ".*"


def registering_keys(key: RuntimeKey) -> list[str]:
    """Names of the keys whose registrations serve a key, the key's first."""
    return [key.name, *(["Autograd"] if key.kind is KeyKind.autograd else _DECOMPOSITIONS.get(key.name, ()))]


#: The releases whose registrations by hand are known.
_WITH_HAND_REGISTRATIONS: Final = ("2.13.0",)


class HandRegistration(NamedTuple):
    """A kernel that PyTorch registers by hand in C++: operator, dispatch key, and the file and line that do it."""

    operator: str
    key: str
    file: str
    line: int


@cache
def hand_registrations(release: str) -> tuple[HandRegistration, ...]:
    """The kernels that a release registers by hand in C++ for single operators; nothing for releases without a table.

    >>> [row.file for row in hand_registrations("2.13.0") if row[:2] == ("nonzero", "FuncTorchBatched")]
    ['aten/src/ATen/functorch/BatchRulesDynamic.cpp']
    """
    rows: list[HandRegistration] = []
    key = file = ""
    if release in _WITH_HAND_REGISTRATIONS:
        for name, word in data_rows(__package__, f"hand_registrations-{release}.txt"):
            if name.startswith("["):
                key, file = name.removeprefix("["), word.removesuffix("]")
            else:
                rows.append(HandRegistration(name, key, file, int(word)))
    return tuple(rows)


class HandRegistrations:
    """Registrations in the sources of a PyTorch.

    Sources are read when a key is asked for whose kernels they register.

    >>> from opwright.backends.dispatch.runtime_keys import runtime_keys
    >>> from opwright.release.inputs import open_inputs
    >>> meta = next(key for key in runtime_keys() if key.key is META)
    >>> HandRegistrations(open_inputs("auto")).place("linspace", meta).file
    'torch/_meta_registrations.py'
    """

    def __init__(self, inputs: Inputs) -> None:
        self._inputs: Final = inputs
        self._places: Final[dict[tuple[str, str], HandPlace]] = {}
        self._headers: Final[dict[str, dict[str, Macro]]] = {}
        self._read: Final[dict[str, bool]] = {}

    def covers(self, key: RuntimeKey) -> bool:
        """Whether all sources are there that register kernels for a key, so that no place means no kernel.

        Python registers more for Meta than `@register_meta` shows.
        """
        return all(not pattern.endswith(".py") and self._read_sources(pattern) for pattern in key.by_hand)

    def place(self, operator: str, key: RuntimeKey) -> HandPlace | None:
        """Where a kernel of an operator is registered for a key; None where no source says so."""
        for pattern in key.by_hand:
            self._read_sources(pattern)
        names = (operator, operator.partition(".")[0] + _ALL)
        places = (self._places.get((name, other)) for other in registering_keys(key) for name in names)
        return next((place for place in places if place is not None), None)

    def _read_sources(self, pattern: str) -> bool:
        """Read the sources of a pattern once, and tell whether there are any."""
        is_there = self._read.get(pattern)
        if is_there is None:
            names = [
                name for name in self._inputs.member_names(pattern.partition("*")[0]) if fnmatchcase(name, pattern)
            ]
            for name in names:
                self._read_source(name)
            is_there = self._read[pattern] = bool(names) or self._read_table(pattern)
        return is_there

    def _read_table(self, pattern: str) -> bool:
        """Take what is known of the sources of a pattern in a release, and tell whether anything is."""
        rows = hand_registrations(str(self._inputs.version_text).partition("+")[0])
        listed = [row for row in rows if fnmatchcase(row.file, pattern)]
        for row in listed:
            self._places.setdefault((row.operator, row.key), HandPlace(row.file, row.line))
        return bool(listed)

    def _read_source(self, name: str) -> None:
        text = member_text(self._inputs, name)
        registered = _registered_in_python(name, text) if name.endswith(".py") else self._registered_in_cpp(name, text)
        for operator, key, place in registered:
            self._places.setdefault((operator, key), place)

    def _registered_in_cpp(self, name: str, text: str) -> Iterator[tuple[str, str, HandPlace]]:
        macros: dict[str, Macro] = {}
        for header in (*_EVERYWHERE, *_INCLUDE.findall(text)):
            macros |= self._header_macros(f"aten/src/{header}" if header.startswith("ATen/") else header)
        source = parse_cpp(name, text)
        return _Registrations(source, macros | _with_parameters(source)).of(source.tokens)

    def _header_macros(self, header: str) -> dict[str, Macro]:
        macros = self._headers.get(header)
        if macros is None:
            macros = self._headers[header] = _with_parameters(parse_cpp(header, member_text(self._inputs, header)))
        return macros


def _with_parameters(source: CppSource) -> dict[str, Macro]:
    """Macros with parameters that a source defines; the last of several definitions."""
    return {macro.name: macro for macro in source.macros if macro.parameters is not None}


class _Registrations:
    """What the code of a file registers."""

    def __init__(self, source: CppSource, macros: Mapping[str, Macro]) -> None:
        self._file: Final = source.path
        self._macros: Final = macros
        budget = SourceBudget(SourceText(source.path, source.text))
        self._expander: Final = MacroExpander(macros, budget)
        self._blocks: Final = MacroExpander(
            {name: macro_name for name, macro_name in macros.items() if _BLOCK in macro_name.text}, budget
        )

    def of(self, code: Sequence[Token]) -> Iterator[tuple[str, str, HandPlace]]:
        """Operators in blocks of registrations, with the key and the place. Macros may stand for whole blocks."""
        for block in _calls(self._blocks.expanded(code), (_BLOCK,)):
            given = [text_of(argument) for argument in block.arguments]
            if len(given) == 3 and (given[0], given[2]) == (_NAMESPACE, _VARIABLE):
                key = _SAME_KEYS.get(given[1], given[1])
                for name, place in self._in_block(block.body):
                    yield name, key, place

    def _in_block(self, body: Sequence[Token]) -> Iterator[tuple[str, HandPlace]]:
        """Operators of a block. Those of a list, a macro that calls its own parameter for each, have a place there.

        All others have the place of the statement in the block.
        """
        end = 0
        for call in _calls(body, self._macros):
            macro = self._macros[call.function.text]
            items = self._items(macro)
            if items:
                yield from self._named(body[end : call.start], self._file)
                end = call.end
            for item in items:
                macro_call = self._expander.substituted(item, macro, call.arguments, item[0])
                yield from self._named(macro_call, macro.path)
        yield from self._named(body[end:], self._file)

    def _items(self, macro: Macro) -> list[Sequence[Token]]:
        """Calls of its own parameters in a macro."""
        body = self._expander.body(macro)
        return [body[call.start : call.end] for call in _calls(body, macro.parameters or ())]

    def _named(self, code: Sequence[Token], file: str) -> Iterator[tuple[str, HandPlace]]:
        """Operators that the calls of `m.impl` name, with their places in a file."""
        expanded = self._expander.expanded(code)
        for call in _calls(expanded, ("impl",)):
            if [token.text for token in expanded[max(call.start - 2, 0) : call.start]] == [_VARIABLE, "."]:
                texts = [token for token in call.arguments[0] if token.text not in (_SELECTIVE, "(", ")")]
                if texts and all(token.kind == "text" for token in texts):
                    name = "".join([token.text.strip('"') for token in texts]).removeprefix("aten::")
                    yield name, HandPlace(file, call.function.line)


class _Call(NamedTuple):
    """A call in code: the function, its arguments, what follows in braces, and the indices of it all."""

    function: Token
    arguments: Sequence[Sequence[Token]]
    body: Sequence[Token]
    start: int
    end: int


def _calls(code: Sequence[Token], functions: Container[str]) -> Iterator[_Call]:
    """Outermost calls of some functions in code."""
    end = 0
    for index, (token, following) in enumerate(pairwise(code)):
        if index >= end and following.text == "(" and token.text in functions:
            end = closing_index(code, index + 1) + 1
            body: Sequence[Token] = ()
            if end < len(code) and code[end].text == "{":
                body = code[end + 1 : closing_index(code, end)]
            yield _Call(token, arguments(code, index + 1), body, index, end)


def _registered_in_python(name: str, text: str) -> Iterator[tuple[str, str, HandPlace]]:
    """What functions under `@register_meta` compute the shapes of."""
    for decorator in _REGISTER_META.finditer(text):
        place = HandPlace(name, text.count("\n", 0, decorator.start()) + 1)
        for base, overload in _OPERATOR.findall(text, decorator.end(), closing_bracket(text, decorator.end())):
            yield base + ("" if overload == "default" else f".{overload}" if overload else _ALL), META.name, place
