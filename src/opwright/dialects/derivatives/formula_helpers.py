"""Functions that formulas can call besides operators, which `FunctionsManual.h` declares."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from opwright.release.rules import Rules
from opwright.release.tables import formula_helper_names
from opwright.source.lazy import lazy_pattern
from opwright.source.records import NamedTuple
from opwright.source.span import Span
from opwright.source.text import SourceFile

#: Comments and preprocessor directives.
_NO_CODE: Final = lazy_pattern(r"//[^\n]*|/\*.*?\*/|^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.DOTALL | re.MULTILINE)
_BRACE: Final = lazy_pattern(r"[{}]")
_NAMESPACE: Final = lazy_pattern(r"\bnamespace\b[\w\s:]*$")
_DECLARED_NAME: Final = lazy_pattern(r"[\w>&*]\s+(\w+)\s*\(")
_PARENTHESIS: Final = lazy_pattern(r"[()]")
#: Nested brackets inside a parameter, which may contain commas.
_NESTED: Final = lazy_pattern(r"<[^<>()]*>|\([^()]*\)|\{[^{}]*\}")
_LONGEST_NAME: Final = 200
#: What precedes a brace that opens a value. Other braces open the body of a function or a class.
_BEFORE_VALUE: Final = ("=", ",", "(")


class HelperDeclaration(NamedTuple):
    """One declaration of a helper: its parameters as written, the least and most arguments, and its span.

    `most` is None if it takes any number.
    """

    parameters: str
    least: int
    most: int | None
    span: Span

    def takes(self, count: int) -> bool:
        """Whether it takes this number of arguments."""
        return self.least <= count and (self.most is None or count <= self.most)


class FormulaHelpers(NamedTuple):
    """Names of the helpers of a release, and their declarations if the inputs have the header.

    Declarations can also be those of a library's operators, whose names have their namespace.

    With `are_all` false, formulas can also call functions that headers declare which Opwright does not read.
    """

    names: frozenset[str]
    declarations: Mapping[str, tuple[HelperDeclaration, ...]]
    are_all: bool = True


def helpers_of(rules: Rules | None = None, header: SourceFile | None = None) -> FormulaHelpers:
    """Helpers of a release (of all releases without `rules`), and those that the header declares, if there is one.

    >>> "pow_backward" in helpers_of().names
    True
    """
    declarations = {} if header is None else declared_helpers(header)
    names = formula_helper_names(None) if rules is None else rules.formula_helpers
    return FormulaHelpers(names.union(declarations), declarations)


def declared_helpers(header: SourceFile) -> dict[str, tuple[HelperDeclaration, ...]]:
    """Functions that a header declares outside classes, by name.

    >>> header = SourceFile("a.h", "Tensor twice(const Tensor& t, std::array<bool, 2> mask = {}); // twice(t)")
    >>> [one[:3] for one in declared_helpers(header)["twice"]]
    [('const Tensor& t, std::array<bool, 2> mask = {}', 1, 2)]
    """
    code = _without_bodies(_NO_CODE.sub(_blanks, header.text))
    declared: dict[str, tuple[HelperDeclaration, ...]] = {}
    match = _DECLARED_NAME.search(code)
    while match is not None:
        start, end = match.end(), _closing(code, match.end())
        declaration = _declaration(code[start:end], header.span(*match.span(1)))
        name = match.group(1)
        declared[name] = (*declared.get(name, ()), declaration)
        match = _DECLARED_NAME.search(code, end)
    return declared


def _blanks(match: re.Match[str]) -> str:
    return " " * len(match.group())


def _without_bodies(code: str) -> str:
    """Code with blanks instead of the bodies of functions and classes; offsets stay the same."""
    parts: list[str] = []
    namespaces = depth = start = copied = 0
    for match in _BRACE.finditer(code):
        if match.group() == "}":
            if depth:
                depth -= 1
                if not depth and not code[:start].rstrip().endswith(_BEFORE_VALUE):
                    parts += [code[copied:start], ";", " " * (match.end() - start - 1)]
                    copied = match.end()
            elif namespaces:
                namespaces -= 1
        elif not depth and _NAMESPACE.search(code, max(match.start() - _LONGEST_NAME, 0), match.start()):
            namespaces += 1
        else:
            if not depth:
                start = match.start()
            depth += 1
    return "".join([*parts, code[copied:]])


def _closing(code: str, start: int) -> int:
    """Offset of the parenthesis that closes the one just before `start`; the end of the code if there is none."""
    depth = 1
    for match in _PARENTHESIS.finditer(code, start):
        depth += 1 if match.group() == "(" else -1
        if not depth:
            return match.start()
    return len(code)


def _declaration(parameters: str, span: Span) -> HelperDeclaration:
    plain = parameters
    while (shorter := _NESTED.sub("", plain)) != plain:
        plain = shorter
    optional, is_open = plain.count("="), "..." in plain
    count = 0 if plain.strip() in ("", "void") else plain.count(",") + 1 - is_open
    return HelperDeclaration(" ".join(parameters.split()), count - optional, None if is_open else count, span)
