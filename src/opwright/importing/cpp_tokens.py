"""The tokens of a C++ source, each with its line and with the conditions of the preprocessor that hold there.

Registrations are simple statements in sources that no parser without the compiler's flags understands as a whole, such
as those of CUDA kernels. So the source is read as tokens, and brackets tell where a statement ends.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from opwright.source.named_tuple import NamedTuple

__all__ = ["CppSource", "Token", "arguments", "closing_index", "read_cpp", "text_of"]

_TOKEN: Final = re.compile(
    r"""(?P<blank>\s+|//(?:\\\n|[^\n])*|/\*.*?(?:\*/|\Z))
    |(?P<directive>(?<![^\n])[ \t]*\#(?:\\\n|//[^\n]*|/\*.*?\*/|[^\n])*)
    |(?P<raw>(?:u8|[LuU])?R"(?P<fence>[^()\s\\]{0,16})\(.*?\)(?P=fence)")
    |(?P<text>(?:u8|[LuU])?"(?:\\.|[^"\\\n])*"?)
    |(?P<character>'(?:\\.|[^'\\\n])*'?)
    |(?P<name>[A-Za-z_]\w*)
    |(?P<number>\.?\d(?:[eEpP][+-]|'(?=\w)|[\w.])*)
    |(?P<sign>::|->|.)""",
    re.VERBOSE | re.DOTALL,
)
_DIRECTIVE: Final = re.compile(r"\s*#\s*(\w*)\s*(.*)", re.DOTALL)
_COMMENT: Final = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_DEFINE: Final = re.compile(r"(\w+)(\([^)]*\))?\s*(.*)", re.DOTALL)
#: What a macro stands for that registers something, or opens a block that does.
_REGISTERS: Final = re.compile(r"\bTORCH_LIBRARY|\bSTABLE_TORCH_LIBRARY|\.\s*(?:def|impl)\s*\(")
_INCLUDE: Final = re.compile(r'"([^"\n]+)"')
_NAME: Final = re.compile(r"\w+")
_PAIRS: Final = {"(": ")", "[": "]", "{": "}"}


class Token(NamedTuple):
    """A word, a number, a quotation or a sign, with its place in the text and the conditions that hold there."""

    kind: str
    text: str
    start: int
    end: int
    line: int
    conditions: tuple[str, ...]


class CppSource(NamedTuple):
    """A source: its tokens, the macros that it defines as other words, and the headers that it includes by `"..."`."""

    path: str
    text: str
    tokens: Sequence[Token]
    macros: dict[str, str]
    includes: Sequence[str]


def read_cpp(path: str, text: str) -> CppSource:
    """The tokens of a text, without what `#if 0` leaves out, and with what its macros for registrations stand for.

    >>> text = '#define IMPL(name) m.impl(#name, &name##_cpu)\\nIMPL(scale);'
    >>> text_of(read_cpp("f.cpp", text).tokens)
    'm.impl("scale", &scale_cpu);'
    """
    text = text.replace("\r\n", "\n")
    levels = _Conditions()
    tokens: list[Token] = []
    macros: dict[str, str] = {}
    functions: dict[str, set[tuple[str, str]]] = {}
    includes: list[str] = []
    line = 1
    for match in _TOKEN.finditer(text):
        kind, piece = match.lastgroup or "raw", match.group()
        if kind == "directive":
            word, rest = _directive(piece)
            levels.read(word, rest)
            defined = _DEFINE.fullmatch(rest) if word == "define" and not levels.is_off else None
            if defined is not None and defined[2] is None:
                macros[defined[1]] = defined[3].strip()
            elif defined is not None and _REGISTERS.search(defined[3]):
                functions.setdefault(defined[1], set()).add((defined[2][1:-1], defined[3]))
            if word == "include" and (included := _INCLUDE.match(rest)):
                includes.append(included[1])
        elif kind != "blank" and not levels.is_off:
            tokens.append(Token(kind, piece, match.start(), match.end(), line, levels.held))
        line += piece.count("\n")
    # What a macro with two definitions stands for depends on the build.
    single = {name: _read_macro(*next(iter(own))) for name, own in functions.items() if len(own) == 1}
    return CppSource(path, text, _expanded(tokens, single) if single else tokens, macros, includes)


class _Macro(NamedTuple):
    """A macro with parameters, and the tokens that it stands for."""

    parameters: tuple[str, ...]
    body: Sequence[Token]


def _read_macro(parameters: str, body: str) -> _Macro:
    names = [name.strip() for name in parameters.split(",") if name.strip()]
    return _Macro(tuple(["__VA_ARGS__" if name == "..." else name for name in names]), read_cpp("", body).tokens)


def _expanded(tokens: Sequence[Token], macros: Mapping[str, _Macro]) -> list[Token]:
    """Tokens with what calls of macros stand for, at the place of the call."""
    result: list[Token] = []
    index = 0
    while index < len(tokens):
        token = tokens[index]
        macro = macros.get(token.text)
        if macro is not None and index + 1 < len(tokens) and tokens[index + 1].text == "(":
            given = arguments(tokens, index + 1)
            others = {name: own for name, own in macros.items() if own is not macro}
            result += _expanded([*_substituted(macro, given, token)], others)
            index = closing_index(tokens, index + 1) + 1
        else:
            result.append(token)
            index += 1
    return result


def _substituted(macro: _Macro, given: Sequence[Sequence[Token]], call: Token) -> Iterator[Token]:
    """The tokens of a macro with arguments in place of its parameters: as texts behind `#`, joined around `##`."""
    last = len(macro.parameters) - 1
    values = dict(zip(macro.parameters, given, strict=False))
    if last >= 0 and macro.parameters[last] == "__VA_ARGS__":
        comma = call._replace(kind="sign", text=",")
        values["__VA_ARGS__"] = [token for part in given[last:] for token in (comma, *part)][1:]
    pending: Token | None = None
    is_quoted = joins = False
    for token in macro.body:
        if token.text == "#":
            is_quoted, joins = not is_quoted, is_quoted
            continue
        parts = values.get(token.text, (token,)) if token.kind == "name" else (token,)
        if is_quoted:
            parts = (token._replace(kind="text", text=f'"{text_of(parts)}"'),)
        for part in parts:
            if joins and pending is not None:
                pending = pending._replace(text=pending.text + part.text)
            else:
                if pending is not None:
                    yield pending
                pending = call._replace(kind=part.kind, text=part.text)
            joins = False
        is_quoted = False
    if pending is not None:
        yield pending


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


def closing_index(tokens: Sequence[Token], opening: int) -> int:
    """The index of the bracket that closes the one at an index; the end of the tokens if there is none."""
    waiting: list[str] = []
    for index in range(opening, len(tokens)):
        text = tokens[index].text
        if text in _PAIRS:
            waiting.append(_PAIRS[text])
        elif waiting and text == waiting[-1]:
            waiting.pop()
            if not waiting:
                return index
    return len(tokens)


def arguments(tokens: Sequence[Token], opening: int) -> list[Sequence[Token]]:
    """What stands between the bracket at an index and the one that closes it, divided at commas.

    >>> source = read_cpp("f.cpp", 'f(a, g(b, c), {1, 2})')
    >>> [text_of(argument) for argument in arguments(source.tokens, 1)]
    ['a', 'g(b, c)', '{1, 2}']
    """
    end = closing_index(tokens, opening)
    parts: list[Sequence[Token]] = []
    start, index = opening + 1, opening + 1
    while index < end:
        if tokens[index].text in _PAIRS:
            index = closing_index(tokens, index)
        elif tokens[index].text == ",":
            parts.append(tokens[start:index])
            start = index + 1
        index += 1
    last = tokens[start:end]
    return [*parts, last] if last else parts


def text_of(tokens: Sequence[Token]) -> str:
    """The tokens as a text, with blanks between words and after commas."""
    text = ""
    for token in tokens:
        between = " " if text and (text[-1] == "," or (_NAME.match(text[-1]) and _NAME.match(token.text))) else ""
        text += between + token.text
    return text
