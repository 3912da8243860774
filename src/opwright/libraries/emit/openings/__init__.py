"""The beginnings of the Python modules that libraries get: what stands before the texts for single operators.

The modules of this folder are copied, and never imported. They are real Python, so linters and type checkers see them;
names in braces in their strings, such as `{namespace}`, stand for what differs between libraries.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache
from typing import Final

from opwright.source.lazy import lazy_pattern
from opwright.source.records import NamedTuple

_FOLDER: Final = os.path.dirname(os.path.abspath(__file__))

#: A statement that imports, on one line or with parentheses.
_IMPORT: Final = lazy_pattern(r"(?:from|import) [^\n(]*(?:\([^)]*\))?\n|\n")
#: What one opening takes from another stands in the same module, once both are in one.
_OF_OPENINGS: Final = f"from {__name__}"

#: What stands for the namespace of a library.
NAMESPACE: Final = "{namespace}"

#: Users see what is generated, whose checkers would look into it. What they call has types.
_HEADER: Final = "# mypy: ignore-errors\n# pyright: basic\n# ruff: noqa\n"
_HEADERS: Final = {"implementations": "# ruff: noqa\n"}


class _Opening(NamedTuple):
    """A module of this folder: its docstring, the statements that import, and the rest."""

    doc: str
    imports: tuple[str, ...]
    body: str


@cache
def _opening(name: str) -> _Opening:
    text = opening_source(name)
    end = text.index('"""', 3) + len('"""\n')
    doc, imports = text[:end], []
    while statement := _IMPORT.match(text, end):
        imports.append(statement[0])
        end = statement.end()
    copied = [each for each in imports if each.strip() and not each.startswith(_OF_OPENINGS)]
    return _Opening(doc, tuple(copied), text[end:])


def opening_source(name: str) -> str:
    """The text of a module of this folder, as it is.

    >>> compiled = compile(opening_source("judging"), "judging", "exec")
    """
    with open(f"{_FOLDER}/{name}.py", encoding="utf-8") as file:
        return file.read()


def opening_body(name: str) -> str:
    """The same without docstring and imports, for a text that has these.

    >>> opening_body("outputs").splitlines()[0]
    'def _sizes(shape):'
    """
    return _opening(name).body


def opening(*names: str, values: Mapping[str, str]) -> str:
    """The beginning of a generated module: modules of this folder joined, with the docstring of the last.

    `values` are texts of the modules, and what stands in their place: `{"{namespace}": "acme"}`.

    >>> print(opening("fakes", values={"{namespace}": "acme"})[:44])
    \"""What the operators of `acme` return while
    """
    openings = list(map(_opening, names))
    imports = {each for part in openings for each in part.imports}
    groups = [sorted([each for each in imports if _group_of(each) == group], key=_order) for group in range(3)]
    header = _HEADERS.get(names[-1], _HEADER)
    head = "\n".join([openings[-1].doc + header, *["".join(group) for group in groups if group], ""])
    text = head + "\n\n".join([part.body for part in openings])
    for written, value in values.items():
        text = text.replace(written, value)
    return text


def _group_of(statement: str) -> int:
    """What comes first: annotations that are not evaluated, then the standard library, then PyTorch."""
    module = statement.split()[1].partition(".")[0]
    return {"__future__": 0, "torch": 2}.get(module, 1)


def _order(statement: str) -> tuple[bool, str]:
    """As in each group: modules, then names from modules."""
    return statement.startswith("from"), statement
