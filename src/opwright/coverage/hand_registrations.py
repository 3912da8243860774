"""The kernels that PyTorch's sources register by hand for single operators, with the places where they do.

C++ sources are there in a source tree alone: blocks of `TORCH_LIBRARY_IMPL(aten, KEY, m)`, whose statements call
`m.impl`, or macros with the name of an operator, or with the names of an operator and of its overloads. Python's
registrations for Meta are there in every PyTorch: functions under `@register_meta`.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Final

from opwright.model.dispatch_key import META
from opwright.model.runtime_keys import KeyKind, RuntimeKey
from opwright.release.view import Inputs
from opwright.source.diagnostic import Fault
from opwright.source.named_tuple import NamedTuple

__all__ = ["HandPlace", "HandRegistrations"]


class HandPlace(NamedTuple):
    """A file of PyTorch, as its path in a source tree or wheel, and a line that registers a kernel."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


_COMMENT: Final = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_DEFINITION: Final = re.compile(
    r"^[ \t]*#[ \t]*define[ \t]+(\w+)(?:\(([\w., \\\n]*)\))?((?:[^\n]*\\\n)*[^\n]*)", re.MULTILINE
)
_BLOCK: Final = re.compile(r"TORCH_LIBRARY_IMPL\s*\(\s*aten\s*,\s*(\w+)\s*,\s*m\s*\)\s*\{")
_CALL: Final = re.compile(r"\b(m\.impl|[A-Za-z_]\w*)\s*\(")
_INCLUDE: Final = re.compile(r"#include <((?:ATen|c10)/[\w/]+\.h)>")
#: A text in parts, as macros leave it: `"add" "." "Tensor"`.
_TEXT: Final = re.compile(r'^\s*(?:TORCH_SELECTIVE_NAME\(\s*)?((?:\s*"[^"]*")+)')
#: Headers that nearly all sources include through others, with macros that join words.
_EVERYWHERE: Final = ("c10/macros/Macros.h", "torch/headeronly/macros/Macros.h", "c10/util/Exception.h")
#: How often a text is read again: a macro that calls itself does so without end.
_DEEPEST: Final = 12
#: Keys that C++ has a second name for.
_SAME_KEYS: Final = {"Autocast": "AutocastCUDA"}
#: A key whose kernels serve another one that has none.
_DECOMPOSITIONS: Final = {"FuncTorchBatched": ["FuncTorchBatchedDecomposition"]}
_REGISTER_META: Final = re.compile(r"^@register_meta\(", re.MULTILINE)
_OPERATOR: Final = re.compile(r"\baten\.(\w+)(?:\.(\w+))?")
#: What stands for all overloads of an operator in Python.
_ALL: Final = ".*"
_BRACKET: Final = re.compile(r"[()\[\]{},]")
#: A word in a macro, with what stands before and behind it: `#`, or `##`.
_PARAMETER: Final = re.compile(r"(?:(##?)\s*)?\b([A-Za-z_]\w*)\b(\s*##)?")


class _Macro(NamedTuple):
    """A macro with its place: the file, and the offset of its body in the text of the file."""

    parameters: Sequence[str]
    body: str
    file: str
    text: str
    offset: int

    def place(self, offset: int) -> HandPlace:
        """The line of an offset in the body."""
        return HandPlace(self.file, self.text.count("\n", 0, self.offset + offset) + 1)


class _Call(NamedTuple):
    """A call in a text: the function, its arguments, the whole of it, and its offset."""

    function: str
    arguments: Sequence[str]
    text: str
    offset: int


class HandRegistrations:
    """The registrations in the sources of a PyTorch.

    Sources are read when a key is asked for whose kernels they register.

    >>> from opwright.model.runtime_keys import runtime_keys
    >>> from opwright.release.inputs import open_inputs
    >>> meta = next(key for key in runtime_keys() if key.key is META)
    >>> HandRegistrations(open_inputs("auto")).place("linspace", meta).file
    'torch/_meta_registrations.py'
    """

    __slots__ = ("_headers", "_inputs", "_places", "_read")

    def __init__(self, inputs: Inputs) -> None:
        self._inputs: Final = inputs
        self._places: Final[dict[tuple[str, str], HandPlace]] = {}
        self._headers: Final[dict[str, dict[str, _Macro]]] = {}
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
        aliases = ["Autograd"] if key.kind is KeyKind.autograd else _DECOMPOSITIONS.get(key.name, ())
        names = (operator, operator.partition(".")[0] + _ALL)
        places = (self._places.get((name, alias)) for alias in (key.name, *aliases) for name in names)
        return next((place for place in places if place is not None), None)

    def _read_sources(self, pattern: str) -> bool:
        """Read the sources of a pattern once, and tell whether there are any."""
        is_there = self._read.get(pattern)
        if is_there is None:
            names = [
                name for name in self._inputs.member_names(pattern.partition("*")[0]) if fnmatchcase(name, pattern)
            ]
            is_there = self._read[pattern] = bool(names)
            for name in names:
                self._read_source(name)
        return is_there

    def _read_source(self, name: str) -> None:
        text = self._text(name)
        registered = _registered_in_python(name, text) if name.endswith(".py") else self._registered_in_cpp(name, text)
        for operator, key, place in registered:
            self._places.setdefault((operator, key), place)

    def _text(self, name: str) -> str:
        try:
            return self._inputs.read_member(name).decode("utf-8", "replace")
        except Fault:
            return ""

    def _registered_in_cpp(self, name: str, text: str) -> Iterator[tuple[str, str, HandPlace]]:
        macros: dict[str, _Macro] = {}
        for header in (*_EVERYWHERE, *_INCLUDE.findall(text)):
            macros |= self._header_macros(f"aten/src/{header}" if header.startswith("ATen/") else header)
        uncommented = _blank(_COMMENT, text)
        macros |= _macros(name, uncommented)
        code = _blank(_DEFINITION, uncommented)
        for key, call in _registering_calls(code, macros):
            place = HandPlace(name, code.count("\n", 0, call.offset) + 1)
            for operator, own in _registered_by(call, place, macros):
                yield operator, key, own

    def _header_macros(self, header: str) -> dict[str, _Macro]:
        macros = self._headers.get(header)
        if macros is None:
            macros = self._headers[header] = _macros(header, _blank(_COMMENT, self._text(header)))
        return macros


def _blank(pattern: re.Pattern[str], text: str) -> str:
    """A text of the same lines, without what the pattern matches."""
    return pattern.sub(lambda match: "\n" * match[0].count("\n"), text)


def _macros(file: str, text: str) -> dict[str, _Macro]:
    """The macros with parameters that a text defines; the last of several definitions."""
    return {
        match[1]: _Macro(
            [name.strip(" \\\n").replace("...", "__VA_ARGS__") for name in match[2].split(",")],
            match[3].replace("\\\n", " \n"),
            file,
            text,
            match.start(3),
        )
        for match in _DEFINITION.finditer(text)
        if match[2] is not None
    }


def _registering_calls(code: str, macros: Mapping[str, _Macro]) -> Iterator[tuple[str, _Call]]:
    """The calls in blocks that register kernels, with the key; of macros that stand for blocks, what is in these."""
    blocks = [name for name, macro in macros.items() if _BLOCK.search(macro.body)]
    for call in _calls(code, {"TORCH_LIBRARY_IMPL", *blocks}):
        is_macro = call.function in macros
        text = _expanded(call.text, macros) if is_macro else code
        block = _BLOCK.search(text) if is_macro else _BLOCK.match(code, call.offset)
        if block is None:
            continue
        inside = text[block.end() : _arguments(text, block.end())[1]]
        for own in _calls(inside, {*macros, "m.impl"}):
            offset = call.offset if is_macro else block.end() + own.offset
            yield _SAME_KEYS.get(block[1], block[1]), own._replace(offset=offset)


def _calls(text: str, functions: Container[str]) -> Iterator[_Call]:
    """The outermost calls of some functions in a text."""
    end = 0
    for call in _CALL.finditer(text):
        if call.start() >= end and call[1] in functions:
            arguments, end = _arguments(text, call.end())
            yield _Call(call[1], arguments, text[call.start() : end], call.start())


def _arguments(text: str, start: int) -> tuple[list[str], int]:
    """The arguments of a call from behind its bracket, and the offset behind its end."""
    arguments, depth, first = [], 0, start
    for bracket in _BRACKET.finditer(text, start):
        character, index = bracket[0], bracket.start()
        if character == "," and not depth:
            arguments.append(text[first:index].strip())
            first = index + 1
        elif character in "([{":
            depth += 1
        elif character in ")]}":
            if not depth:
                return [*arguments, text[first:index].strip()], index + 1
            depth -= 1
    return arguments, len(text)


def _registered_by(call: _Call, place: HandPlace, macros: Mapping[str, _Macro]) -> Iterator[tuple[str, HandPlace]]:
    """The operators that a call registers kernels for, with the places that name them.

    In a list of operators, a macro that calls its own parameter for each of them, that is the place in the list.
    """
    macro = macros.get(call.function)
    listed = [] if macro is None else list(_calls(macro.body, macro.parameters))
    if macro is not None and listed:
        for own in listed:
            text = _substituted(own.text, macro.parameters, call.arguments, call.arguments)
            yield from [(name, macro.place(own.offset)) for name in _names(_expanded(text, macros))]
    else:
        yield from [(name, place) for name in _names(_expanded(call.text, macros))]


def _names(text: str) -> Iterator[str]:
    """The operators in the calls of `m.impl` in a text without macros."""
    for call in _calls(text, ("m.impl",)):
        name = _TEXT.match(call.arguments[0])
        if name is not None:
            yield "".join(re.findall(r'"([^"]*)"', name[1])).removeprefix("aten::")


def _expanded(text: str, macros: Mapping[str, _Macro], depth: int = 0) -> str:
    """A text with what calls of macros stand for. What results is read again: it may call macros with what follows."""
    parts, end = [], 0
    for call in _calls(text, macros):
        macro = macros[call.function]
        values = [_expanded(argument, macros, depth + 1) for argument in call.arguments]
        parts += [text[end : call.offset], _substituted(macro.body, macro.parameters, call.arguments, values)]
        end = call.offset + len(call.text)
    if not parts or depth > _DEEPEST:
        return text
    return _expanded("".join([*parts, text[end:]]), macros, depth + 1)


def _substituted(text: str, parameters: Sequence[str], arguments: Sequence[str], values: Sequence[str]) -> str:
    """A text of a macro with its arguments: as texts behind `#`, as they are beside `##`, else their `values`."""
    written, expanded = (_named_values(parameters, texts) for texts in (arguments, values))

    def value(match: re.Match[str]) -> str:
        name = match[2]
        if name not in written:
            return match[0]
        if match[1] == "#":
            return f'"{written[name]}"'
        return f"{match[1] or ''}{written[name] if match[1] or match[3] else expanded[name]}{match[3] or ''}"

    return re.sub(r"\s*##\s*", "", _PARAMETER.sub(value, text))


def _named_values(parameters: Sequence[str], arguments: Sequence[str]) -> dict[str, str]:
    values = dict(zip(parameters, arguments, strict=False))
    if parameters[-1] == "__VA_ARGS__":
        values["__VA_ARGS__"] = ", ".join(arguments[len(parameters) - 1 :])
    return values


def _registered_in_python(name: str, text: str) -> Iterator[tuple[str, str, HandPlace]]:
    """What functions under `@register_meta` compute the shapes of."""
    for decorator in _REGISTER_META.finditer(text):
        place = HandPlace(name, text.count("\n", 0, decorator.start()) + 1)
        arguments = text[decorator.end() : _arguments(text, decorator.end())[1]]
        for base, overload in _OPERATOR.findall(arguments):
            yield base + ("" if overload == "default" else f".{overload}" if overload else _ALL), META.name, place
