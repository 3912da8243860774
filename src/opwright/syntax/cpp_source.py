"""Code of a C++ source as tokens, each with the conditions of the preprocessor that hold there."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType
from typing import Final

from opwright.source.diagnostic import Fault
from opwright.source.limits import SCALAR_CHARACTERS
from opwright.source.records import NamedTuple
from opwright.source.span import SourceText
from opwright.source.text import SourceFile
from opwright.syntax.budget import CPP_DEPTH, SourceBudget
from opwright.syntax.cpp_tokens import (
    TOKEN_WORK,
    Macro,
    MacroExpander,
    Token,
    check_depth,
    cpp_tokens,
    macro_of,
    text_of,
)

#: Suffixes of C++ files, of headers among them, and of those that a compiler of CUDA or ROCm reads.
CPP_HEADERS: Final = (".h", ".hpp", ".cuh", ".hh", ".hxx", ".h++", ".inl", ".ipp", ".tpp")
CPP_SUFFIXES: Final = (".cpp", ".cc", ".cxx", ".c++", ".cu", ".hip", ".mm", *CPP_HEADERS)
CUDA_SUFFIXES: Final = (".cu", ".cuh", ".hip")

_DIRECTIVE: Final = re.compile(r"\s*#\s*(\w*)\s*(.*)", re.DOTALL)
_COMMENT: Final = re.compile(r"//[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)
#: What a macro stands for that registers something, or opens a block that does.
_REGISTERS: Final = re.compile(r"\bTORCH_LIBRARY|\bSTABLE_TORCH_LIBRARY|\.\s*(?:def|impl)\s*\(|\bKERNEL(?:_[A-Z_]+)?\(")
_OF_PYTORCH: Final = re.compile(r"(?:STABLE_)?TORCH_LIBRARY")
_MOST_HEADERS: Final = 2000
_INCLUDE: Final = re.compile(r'"([^"\n]+)"')


class CppSource(NamedTuple):
    """A source: its tokens, the macros that it defines, and the headers that it includes by `"..."`, with the lines."""

    path: str
    text: str
    tokens: Sequence[Token]
    macros: Sequence[Macro]
    includes: Sequence[tuple[str, int]]

    @property
    def words(self) -> dict[str, str]:
        """What the macros without brackets stand for."""
        return {macro.name: text_of([*cpp_tokens(macro.text)]) for macro in self.macros if macro.parameters is None}


def parse_cpp(path: str, text: str) -> CppSource:
    """Tokens of a text, without what `#if 0` leaves out. Raises Fault (E0006) if that is too much work.

    A block that each branch of a condition opens is opened once.

    >>> text = "#ifdef A\\nif (a) {\\n#else\\nif (b) {\\n#endif\\nf();\\n}"
    >>> text_of(parse_cpp("f.cpp", text).tokens)
    'if(a){f();}'
    """
    text = text.replace("\r\n", "\n")
    budget = SourceBudget(SourceText(path, text))
    levels = _Conditions()
    code: list[Token] = []
    macros: list[Macro] = []
    includes: list[tuple[str, int]] = []
    branches: list[tuple[int, _Braces]] = []
    for token in cpp_tokens(text, with_directives=True):
        budget.take(TOKEN_WORK + len(token.text), token.start, token.end)
        if token.kind == "directive":
            word, rest = _directive(token.text)
            seen = _Braces(0, 0)
            if branches and word.startswith(("el", "endif")):
                start, seen = branches.pop()
                seen = _of_one_branch(code, start, seen)
            if word.startswith(("if", "el")):
                branches.append((len(code), seen))
            levels.read(word, rest)
            if levels.are_too_many:
                raise budget.fault("too many conditions of the preprocessor hold here", token.start, token.end)
            if word == "define" and not levels.is_off and (macro := macro_of(token, path)) is not None:
                macros.append(macro)
            elif word == "include" and (included := _INCLUDE.match(rest)):
                includes.append((included[1], token.line))
        elif not levels.is_off:
            if token.kind == "open":
                raise budget.fault("the raw string is never closed", token.start, token.start + 2)
            code.append(token._replace(conditions=levels.held) if levels.held else token)
    check_depth(code, budget)
    return CppSource(path, text, code, macros, includes)


class _Braces(NamedTuple):
    """How many braces a branch of a condition closes that it does not open, and opens that it does not close."""

    closing: int
    opening: int


def _of_one_branch(code: list[Token], start: int, seen: _Braces) -> _Braces:
    """Takes the braces out of the last branch, from `start` of the code on, that branches before it have too.

    One that opens goes with the head of its block. Gives the braces of all branches so far.
    """
    closing: list[int] = []
    opening: list[int] = []
    for index in range(start, len(code)):
        if code[index].text == "{":
            opening.append(index)
        elif code[index].text == "}" and opening:
            opening.pop()
        elif code[index].text == "}":
            closing.append(index)
    for index in reversed(opening[: seen.opening]):
        head, depth = index, 0
        while head > start and (depth or code[head - 1].text not in (";", "{", "}")):
            head -= 1
            depth += (code[head].text == ")") - (code[head].text == "(")
        del code[head : index + 1]
    for index in reversed(closing[: seen.closing]):
        del code[index]
    return _Braces(max(seen.closing, len(closing)), max(seen.opening, len(opening)))


def read_cpp(path: str, text: str) -> CppSource:
    """A source, with what its macros for registrations stand for in their place.

    >>> text = '#define IMPL(name) m.impl(#name, &name##_cpu)\\nIMPL(scale);'
    >>> text_of(read_cpp("f.cpp", text).tokens)
    'm.impl("scale", &scale_cpu);'
    """
    return with_registrations(parse_cpp(path, text), {})


def registers(macro: Macro) -> bool:
    """Whether a macro stands for registrations, and is none of PyTorch's, whose names say what they do."""
    return _REGISTERS.search(macro.text) is not None and _OF_PYTORCH.match(macro.name) is None


def registering_macros(sources: Iterable[CppSource]) -> dict[str, Macro]:
    """Macros with parameters for registrations that sources define.

    What a macro with two definitions stands for depends on the build.
    """
    registering: dict[str, dict[str, Macro]] = {}
    for source in sources:
        for macro in source.macros:
            if macro.parameters is not None and registers(macro):
                registering.setdefault(macro.name, {})[" ".join(macro.text.split())] = macro
    return {name: macro for name, texts in registering.items() if len(texts) == 1 for macro in texts.values()}


def namespace_macros(sources: Sequence[CppSource]) -> dict[str, Macro]:
    """Macros without parameters that name a namespace where sources open it, each with one definition."""
    names = {after.text for source in sources for token, after in pairwise(source.tokens) if token.text == "namespace"}
    named = [macro for source in sources for macro in source.macros if macro.parameters is None and macro.name in names]
    texts = {(macro.name, macro.text.strip()) for macro in named}
    counts = Counter(name for name, _ in texts)
    return {macro.name: macro for macro in named if counts[macro.name] == 1 and macro.text.strip()}


def with_registrations(
    source: CppSource, shared: Mapping[str, Macro], namespaces: Mapping[str, Macro] = MappingProxyType({})
) -> CppSource:
    """Source with what macros for registrations, and for namespaces, stand for in their place.

    Those for registrations are its own, and those of headers.
    """
    macro_names = {macro.name for macro in source.macros}
    macros = {name: macro for name, macro in shared.items() if name not in macro_names} | registering_macros([source])
    macros.update(namespaces)
    if not macros:
        return source
    budget = SourceBudget(SourceText(source.path, source.text))
    tokens = MacroExpander(macros, budget).expanded(source.tokens)
    check_depth(tokens, budget)
    return source._replace(tokens=tokens)


def included_headers(sources: Sequence[CppSource]) -> Iterator[CppSource]:
    """Headers that sources include, and those that these include."""
    seen = {os.path.realpath(source.path) for source in sources}
    waiting = [path for source in sources for path in _included_files(source)]
    while waiting and len(seen) < _MOST_HEADERS:
        path = os.path.realpath(waiting.pop(0))
        if path not in seen:
            seen.add(path)
            try:
                text = SourceFile.read_plain(path).text
            except Fault:
                continue
            header = parse_cpp(path, text)
            yield header
            waiting += _included_files(header)


def _included_files(source: CppSource) -> Iterator[str]:
    """Headers that a source includes by a path from its folder, or from the nearest one above that has the path."""
    folder = os.path.dirname(os.path.realpath(source.path))
    for name, _ in source.includes:
        # Compilers are told from which folders above; a name alone is that of many headers.
        levels = [folder, *map(str, Path(folder).parents)] if "/" in name else [folder]
        candidates = (os.path.join(level, name) for level in levels)
        yield from [path for path in candidates if os.path.isfile(path)][:1]


def _directive(piece: str) -> tuple[str, str]:
    """Word and the rest of a directive, on one line and without comments."""
    match = _DIRECTIVE.fullmatch(_COMMENT.sub(" ", piece.replace("\\\n", " ")))
    return (match[1], " ".join(match[2].split())) if match is not None else ("", "")


class _Conditions:
    """Nested `#if` at a place: for each, the conditions around it, the branches before, and the one of the place."""

    def __init__(self) -> None:
        self._levels: list[tuple[tuple[str, ...], tuple[str, ...], str]] = []
        self._guard = ""
        self._parts: tuple[str, ...] = ()
        self.held: tuple[str, ...] = ()
        self.is_off = False

    def read(self, word: str, rest: str) -> None:
        is_guard = word == "define" and bool(self._guard) and rest.split(" ")[0] == self._guard and bool(self._levels)
        self._guard = rest if word == "ifndef" else ""
        if is_guard:
            # The guard of a header is no condition.
            self._levels[-1] = self._levels[-1][0], (), ""
        elif word in ("if", "ifdef", "ifndef"):
            self._levels.append((self._parts, (), _condition(word, rest)))
        elif word in ("elif", "elifdef", "elifndef", "else") and self._levels:
            around, before, branch = self._levels[-1]
            before += (negation(branch),) if branch else ()
            self._levels[-1] = around, before, _condition(word.removeprefix("el"), rest)
        elif word == "endif" and self._levels:
            self._levels.pop()
        else:
            return
        around, before, branch = self._levels[-1] if self._levels else ((), (), "")
        self._parts = (*around, *before, *((branch,) if branch else ()))
        self.held = tuple([part for part in dict.fromkeys(self._parts) if part not in ("1", "!0")])
        self.is_off = "0" in self._parts or "!1" in self._parts

    @property
    def are_too_many(self) -> bool:
        """Whether more conditions hold than one entry of a library file could have."""
        return len(self._parts) > CPP_DEPTH or sum(map(len, self._parts)) > SCALAR_CHARACTERS


def _condition(word: str, rest: str) -> str:
    """Condition of `#if`, `#ifdef` or `#ifndef`; none for `#else`, of which `se` is left."""
    return {"if": rest, "ifdef": f"defined({rest})", "ifndef": f"!defined({rest})", "se": ""}[word]


def negation(condition: str) -> str:
    """Condition that holds where this one does not.

    >>> negation("defined(A)"), negation("!defined(A)"), negation("A > 2 && B"), negation("")
    ('!defined(A)', 'defined(A)', '!(A > 2 && B)', '')
    """
    if not condition:
        return ""
    plain = re.fullmatch(r"(!?)\s*(defined\s*\(\s*\w+\s*\)|\w+)", condition)
    if plain is None:
        return f"!({condition})"
    return plain[2] if plain[1] else f"!{plain[2]}"
