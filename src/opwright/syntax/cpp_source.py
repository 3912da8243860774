"""The code of a C++ source as tokens, each with the conditions of the preprocessor that hold there."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from opwright.source.named_tuple import NamedTuple
from opwright.syntax.cpp_tokens import Macro, MacroExpander, Token, cpp_tokens, macro_of, text_of

__all__ = ["CppSource", "parse_cpp", "read_cpp", "registering_macros", "with_registrations"]

_DIRECTIVE: Final = re.compile(r"\s*#\s*(\w*)\s*(.*)", re.DOTALL)
_COMMENT: Final = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
#: What a macro stands for that registers something, or opens a block that does.
_REGISTERS: Final = re.compile(r"\bTORCH_LIBRARY|\bSTABLE_TORCH_LIBRARY|\.\s*(?:def|impl)\s*\(|\bKERNEL(?:_[A-Z_]+)?\(")
_OF_PYTORCH: Final = re.compile(r"(?:STABLE_)?TORCH_LIBRARY")
_INCLUDE: Final = re.compile(r'"([^"\n]+)"')


class CppSource(NamedTuple):
    """A source: its tokens, the macros that it defines, and the headers that it includes by `"..."`."""

    path: str
    text: str
    tokens: Sequence[Token]
    macros: Sequence[Macro]
    includes: Sequence[str]

    @property
    def words(self) -> dict[str, str]:
        """What the macros without brackets stand for."""
        return {macro.name: text_of([*cpp_tokens(macro.text)]) for macro in self.macros if macro.parameters is None}


def parse_cpp(path: str, text: str) -> CppSource:
    """The tokens of a text, without what `#if 0` leaves out."""
    text = text.replace("\r\n", "\n")
    levels = _Conditions()
    code: list[Token] = []
    macros: list[Macro] = []
    includes: list[str] = []
    for token in cpp_tokens(text, with_directives=True):
        if token.kind == "directive":
            word, rest = _directive(token.text)
            levels.read(word, rest)
            if word == "define" and not levels.is_off and (macro := macro_of(token, path)) is not None:
                macros.append(macro)
            elif word == "include" and (included := _INCLUDE.match(rest)):
                includes.append(included[1])
        elif not levels.is_off:
            code.append(token._replace(conditions=levels.held) if levels.held else token)
    return CppSource(path, text, code, macros, includes)


def read_cpp(path: str, text: str) -> CppSource:
    """A source, with what its macros for registrations stand for in their place.

    >>> text = '#define IMPL(name) m.impl(#name, &name##_cpu)\\nIMPL(scale);'
    >>> text_of(read_cpp("f.cpp", text).tokens)
    'm.impl("scale", &scale_cpu);'
    """
    return with_registrations(parse_cpp(path, text), {})


def registering_macros(sources: Iterable[CppSource]) -> dict[str, Macro]:
    """The macros for registrations that sources define, but for those of PyTorch, whose names say what they do.

    What a macro with two definitions stands for depends on the build.
    """
    registering: dict[str, dict[str, Macro]] = {}
    for source in sources:
        for macro in source.macros:
            if macro.parameters is not None and _REGISTERS.search(macro.text) and not _OF_PYTORCH.match(macro.name):
                registering.setdefault(macro.name, {})[" ".join(macro.text.split())] = macro
    return {name: next(iter(own.values())) for name, own in registering.items() if len(own) == 1}


def with_registrations(source: CppSource, shared: Mapping[str, Macro]) -> CppSource:
    """The source with what macros for registrations stand for in their place: its own, and those of headers."""
    own = {macro.name for macro in source.macros}
    macros = {name: macro for name, macro in shared.items() if name not in own} | registering_macros([source])
    return source._replace(tokens=MacroExpander(macros).expanded(source.tokens)) if macros else source


def _directive(piece: str) -> tuple[str, str]:
    """The word and the rest of a directive, on one line and without comments."""
    match = _DIRECTIVE.fullmatch(_COMMENT.sub(" ", piece.replace("\\\n", " ")))
    return (match[1], " ".join(match[2].split())) if match is not None else ("", "")


class _Conditions:
    """The nested `#if` at a place: for each, the branches before, and the one that the place is in."""

    def __init__(self) -> None:
        self._levels: list[tuple[list[str], str]] = []
        self._guard = ""
        self.held: tuple[str, ...] = ()
        self.is_off = False

    def read(self, word: str, rest: str) -> None:
        """Take a directive into account."""
        if word == "define" and self._guard and rest.split(" ")[0] == self._guard and self._levels:
            # The guard of a header is no condition.
            self._levels[-1] = [], ""
        self._guard = rest if word == "ifndef" else ""
        if word in ("if", "ifdef", "ifndef"):
            condition = {"if": rest, "ifdef": f"defined({rest})", "ifndef": f"!defined({rest})"}[word]
            self._levels.append(([], condition))
        elif word in ("elif", "elifdef", "elifndef", "else") and self._levels:
            before, branch = self._levels[-1]
            condition = {"elif": rest, "elifdef": f"defined({rest})", "elifndef": f"!defined({rest})", "else": ""}[word]
            self._levels[-1] = ([*before, branch], condition)
        elif word == "endif" and self._levels:
            self._levels.pop()
        held = [part for before, own in self._levels for part in (*map(negation, before), own) if part]
        self.held = tuple(dict.fromkeys(part for part in held if part not in ("1", "!0")))
        self.is_off = "0" in held or "!1" in held


def negation(condition: str) -> str:
    """The condition that holds where this one does not.

    >>> negation("defined(A)"), negation("!defined(A)"), negation("A > 2 && B"), negation("")
    ('!defined(A)', 'defined(A)', '!(A > 2 && B)', '')
    """
    if not condition:
        return ""
    plain = re.fullmatch(r"(!?)\s*(defined\s*\(\s*\w+\s*\)|\w+)", condition)
    if plain is None:
        return f"!({condition})"
    return plain[2] if plain[1] else f"!{plain[2]}"
