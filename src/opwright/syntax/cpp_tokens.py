"""C++ as tokens, and what macros of the preprocessor stand for.

Sources such as those of CUDA kernels need the compiler's flags to be understood as a whole. Simple statements need only
their tokens: brackets tell where one ends.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Final

from opwright.source.records import NamedTuple
from opwright.syntax.budget import CPP_DEPTH, SourceBudget

_PIECES: Final = r"""(?P<blank>\s*\n|\s+|\\\n|//(?:\\\n|[^\n])*|/\*.*?(?:\*/|\Z))
    |(?P<raw>(?:u8|[LuU])?R"(?P<fence>[^()\s\\]{0,16})\(.*?(?:\)(?P=fence)"|(?P<open>\Z)))
    |(?P<text>(?:u8|[LuU])?"(?:\\.|[^"\\\n])*"?)
    |(?P<character>'(?:\\.|[^'\\\n])*'?)
    |(?P<name>[A-Za-z_]\w*)
    |(?P<number>\.?\d(?:[eEpP][+-]|'(?=\w)|[\w.])*)
    |(?P<sign>::|->|\#\#|.)"""
_PIECE: Final = re.compile(_PIECES, re.VERBOSE | re.DOTALL)
_DIRECTIVE: Final = re.compile(r"(?<![^\n])[ \t]*\#")
#: What ends a directive, or hides an end: a line break, and what is before it, quotations and comments.
_STOP: Final = re.compile(r"""\\\n|\n|//|"(?:\\.|[^"\\\n])*"|/\*.*?(?:\*/|\Z)""", re.DOTALL)
_DEFINE: Final = re.compile(r"[ \t]*\#[ \t]*define\s+(\w+)(\([^)]*\))?", re.DOTALL)
_NAME: Final = re.compile(r"\w+")
_PAIRS: Final = {"(": ")", "[": "]", "{": "}"}
_DEPTHS: Final = {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}
_REST: Final = "__VA_ARGS__"
#: What a token costs besides its characters: it is an object.
TOKEN_WORK: Final = 32


class Token(NamedTuple):
    """A word, a number, a quotation, a sign or a directive, with its place in the text.

    A quotation is a `text`, or `raw`; one that is never closed is `open`. All `conditions` of the preprocessor hold
    there. Names of macros that are `hidden` mean nothing in it.
    """

    kind: str
    text: str
    start: int
    end: int
    line: int
    conditions: tuple[str, ...] = ()
    hidden: frozenset[str] = frozenset()


def cpp_tokens(text: str, line: int = 1, *, with_directives: bool = False) -> Iterator[Token]:
    """Tokens of a text that begins in a line. In the text of a macro, a `#` begins no directive.

    >>> [token.text for token in cpp_tokens("f(1.5, a::b); // comment")]
    ['f', '(', '1.5', ',', 'a', '::', 'b', ')', ';']
    """
    at = 0
    while at < len(text):
        if with_directives and (match := _DIRECTIVE.match(text, at)) is not None:
            kind, end = "directive", _directive_end(text, match.end())
        else:
            match = _PIECE.match(text, at)
            assert match is not None, "each character is a sign at least"
            kind, end = "open" if match["open"] is not None else match.lastgroup or "raw", match.end()
        if kind != "blank":
            yield Token(kind, text[at:end], at, end, line)
        line += text.count("\n", at, end)
        at = end


def _directive_end(text: str, at: int) -> int:
    """Where the directive ends that goes on at an offset."""
    while (stop := _STOP.search(text, at)) is not None and stop[0] not in ("\n", "//"):
        at = stop.end()
    end = len(text) if stop is None else text.find("\n", stop.start())
    return end if end >= 0 else len(text)


class Macro(NamedTuple):
    """A macro: its parameters, None if it has no brackets, what it stands for, and the file and line of that."""

    name: str
    parameters: tuple[str, ...] | None
    text: str
    path: str
    line: int


def macro_of(directive: Token, path: str) -> Macro | None:
    """Macro that a directive defines; None for another directive.

    >>> directive = "#define IMPL(name, ...) m.impl(#name, __VA_ARGS__)"
    >>> macro_of(next(cpp_tokens(directive, with_directives=True)), "f.h")[:3]
    ('IMPL', ('name', '__VA_ARGS__'), ' m.impl(#name, __VA_ARGS__)')
    """
    match = _DEFINE.match(directive.text)
    if match is None:
        return None
    parameters = None
    if match[2] is not None:
        names = [name.strip("\\ \t\n") for name in match[2][1:-1].split(",")]
        parameters = tuple([_REST if name == "..." else name for name in names if name])
    line = directive.line + match[0].count("\n")
    return Macro(match[1], parameters, directive.text[match.end() :], path, line)


class MacroExpander:
    """What calls of macros stand for, as the preprocessor of a compiler sees it."""

    def __init__(self, macros: Mapping[str, Macro], budget: SourceBudget) -> None:
        self._macros: Final = macros
        self._budget: Final = budget
        self._bodies: Final[dict[str, list[Token]]] = {}

    def body(self, macro: Macro) -> list[Token]:
        """Tokens that a macro stands for."""
        body = self._bodies.get(macro.name)
        if body is None:
            body = self._bodies[macro.name] = list(cpp_tokens(macro.text, macro.line))
        return body

    def expanded(self, code: Sequence[Token]) -> list[Token]:
        """Tokens with what the macros in them stand for, at the places of the calls.

        What results is read again: it may call macros with what follows.

        >>> from opwright.source.text import SourceFile
        >>> call = Macro("CALL", ("name",), "f(#name, &name##_cpu)", "f.h", 1)
        >>> expander = MacroExpander({"CALL": call}, SourceBudget(SourceFile("f.cpp", "")))
        >>> text_of(expander.expanded(list(cpp_tokens("CALL(scale);"))))
        'f("scale", &scale_cpu);'
        """
        result: list[Token] = []
        waiting = list(reversed(code))
        while waiting:
            token = waiting.pop()
            macro = self._macros.get(token.text) if token.text not in token.hidden else None
            if macro is not None and macro.parameters is None:
                waiting += reversed(self.substituted(self.body(macro), macro, (), token))
            elif macro is not None and waiting and waiting[-1].text == "(":
                given = arguments(_taken_brackets(waiting), 0)
                waiting += reversed(self.substituted(self.body(macro), macro, given, token))
            else:
                result.append(token)
        return result

    def substituted(
        self, body: Sequence[Token], macro: Macro, given: Sequence[Sequence[Token]], call: Token
    ) -> list[Token]:
        """Tokens of a macro with arguments in place of its parameters: as texts behind `#`, joined around `##`."""
        values = _named(macro, given, call)
        expanded: dict[str, Sequence[Token]] = {}
        hidden = call.hidden | {macro.name}
        result: list[Token] = []
        before = ""
        is_left_empty = False
        for token, after in zip_longest(body, [token.text for token in body[1:]]):
            if token.text not in ("#", "##"):
                parts = values.get(token.text)
                if parts is None:
                    parts = (token,)
                elif before == "#":
                    parts = (_quoted(parts, token),)
                elif "##" not in (before, after):
                    if token.text not in expanded:
                        expanded[token.text] = self.expanded(parts)
                    parts = expanded[token.text]
                tokens = [_at_call(part, call, hidden) for part in parts]
                if before == "##" and result and not is_left_empty:
                    tokens = _joined(result.pop(), tokens)
                is_left_empty = not tokens
                result += tokens
                for result_token in tokens:
                    self._budget.take(TOKEN_WORK + len(result_token.text), call.start, call.end)
            before = token.text
        return result


def check_depth(tokens: Sequence[Token], budget: SourceBudget) -> None:
    """Raises Fault (E0006) where brackets nest too deeply."""
    depth = 0
    for token in tokens:
        depth = max(depth + _DEPTHS.get(token.text, 0), 0)
        if depth > CPP_DEPTH:
            raise budget.fault(f"brackets nest more than {CPP_DEPTH} deep", token.start, token.end)


def _at_call(part: Token, call: Token, hidden: frozenset[str]) -> Token:
    """A token of a macro or of its arguments, at the place of the call. Where macros nest, tokens share a set."""
    return call._replace(
        kind=part.kind, text=part.text, hidden=hidden if part.hidden <= hidden else hidden | part.hidden
    )


def _taken_brackets(waiting: list[Token]) -> list[Token]:
    """Tokens from a bracket to the one that closes it, taken from the end of reversed tokens."""
    taken: list[Token] = []
    depth = 0
    while waiting:
        taken.append(waiting.pop())
        depth += _DEPTHS.get(taken[-1].text, 0)
        if not depth:
            break
    return taken


def _named(macro: Macro, given: Sequence[Sequence[Token]], call: Token) -> dict[str, Sequence[Token]]:
    """Arguments of a call by the parameters of the macro."""
    names = macro.parameters or ()
    values: dict[str, Sequence[Token]] = dict.fromkeys(names, ())
    values.update(zip(names, given, strict=False))
    if names[-1:] == (_REST,):
        comma = call._replace(kind="sign", text=",")
        values[_REST] = [token for part in given[len(names) - 1 :] for token in (comma, *part)][1:]
    return values


def _quoted(parts: Sequence[Token], token: Token) -> Token:
    text = text_of(parts).replace("\\", "\\\\").replace('"', '\\"')
    return token._replace(kind="text", text=f'"{text}"')


def _joined(left: Token, right: list[Token]) -> list[Token]:
    """Tokens with the first joined to the one before; a comma before no arguments goes, as compilers have it."""
    if left.text == ",":
        return [left, *right] if right else []
    return [left._replace(text=left.text + right[0].text), *right[1:]] if right else [left]


def closing_index(tokens: Sequence[Token], opening: int) -> int:
    """Index of the bracket that closes the one at an index; the end of the tokens if there is none."""
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


def arguments(tokens: Sequence[Token], opening: int, *, has_types: bool = False) -> list[Sequence[Token]]:
    """What stands between the bracket at an index and the one that closes it, divided at commas.

    If it `has_types`, no comma between the angle brackets of a template divides it.

    >>> call = list(cpp_tokens('f(a, g(b, c), {1, 2}, &h<3, true>)'))
    >>> [text_of(argument) for argument in arguments(call, 1, has_types=True)]
    ['a', 'g(b, c)', '{1, 2}', '&h<3, true>']
    """
    end = closing_index(tokens, opening)
    parts: list[Sequence[Token]] = []
    start = index = opening + 1
    depth = 0
    while index < end:
        text = tokens[index].text
        if text in _PAIRS:
            index = closing_index(tokens, index)
        elif text == "," and depth <= 0:
            parts.append(tokens[start:index])
            start = index + 1
        elif has_types:
            depth += (text == "<") - (text == ">")
        index += 1
    last = tokens[start:end]
    return [*parts, last] if last else parts


def text_of(tokens: Sequence[Token]) -> str:
    """Tokens as a text, with blanks between words and after commas."""
    text = ""
    for token in tokens:
        between = " " if text and (text[-1] == "," or (_NAME.match(text[-1]) and _NAME.match(token.text))) else ""
        text += between + token.text
    return text
