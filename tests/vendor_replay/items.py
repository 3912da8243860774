"""The items of a generated file: what a reader of the file gets, without layout.

The items of a C++ header are its directives, the heads of its classes, and its declarations, each with the namespaces
and classes around it. Those of other files are their lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

#: The scope of lines of files that are not C++.
_LINES = "lines"
_NO_CODE = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.DOTALL)
_DIRECTIVE = re.compile(r"^[ \t]*#[ \t]*((?:\\\n|[^\n])*)", re.MULTILINE)
_WORD = re.compile(r'\w+|::|"(?:\\.|[^"\\])*"|[^\s\w]')
_NAME = re.compile(r"([\w~]+|operator\S+) \(")


class Item(NamedTuple):
    """One item: the namespaces and classes around it, and its words with a space between them."""

    scope: str
    text: str

    @property
    def name(self) -> str:
        """The name of a declared function; empty for other items."""
        match = _NAME.search(self.text) if not self.text.startswith("#") else None
        return match.group(1) if match is not None else ""

    @property
    def is_counted(self) -> bool:
        """Whether reports count the item: a function, or a line."""
        return self.scope == _LINES or bool(self.name)


def items_of(path: str, text: str) -> list[Item]:
    """The items of a file in their order."""
    if path.endswith((".h", ".hpp", ".cpp")):
        return [*_cpp_items(text)]
    lines = [" ".join(line.split()) for line in text.splitlines()]
    return [Item(_LINES, line) for line in lines if line and not line.startswith("#")]


def _cpp_items(text: str) -> Iterator[Item]:
    code = _NO_CODE.sub(lambda match: match.group() if match.group().startswith('"') else " ", text)
    for match in _DIRECTIVE.finditer(code):
        words = " ".join(match.group(1).replace("\\\n", " ").split())
        if words != "pragma once":
            yield Item("", f"#{_plain_include(words)}")
    yield from _declarations(_DIRECTIVE.sub("", code))


def _plain_include(words: str) -> str:
    """A directive, in which quotes and angle brackets around a header are the same."""
    return re.sub(r'^include ["<](.*)[">]$', r"include <\1>", words)


def _declarations(code: str) -> Iterator[Item]:
    scopes: list[list[str]] = []
    statement: list[str] = []
    depth = 0
    for word in _WORD.findall(code):
        depth += word == "("
        depth -= word == ")"
        if depth or word not in "{};":
            statement.append(word)
            continue
        scope = "::".join([name for names in scopes for name in names])
        if word == "{":
            names = _scope_names(statement)
            if statement[:1] != ["namespace"]:
                yield Item(scope, " ".join(statement))
            scopes.append(names)
        elif statement:
            yield Item(scope, " ".join(statement))
        if word == "}" and scopes:
            scopes.pop()
        statement = []


def _scope_names(head: list[str]) -> list[str]:
    """The names that an open brace adds to those around: of a namespace or a class."""
    if head[:1] == ["namespace"]:
        return [word for word in head[1:] if word != "::"]
    if head[:1] in (["struct"], ["class"]):
        end = head.index(":") if ":" in head else len(head)
        return [word for word in head[end - 1 : end] if word != "final"]
    return [" ".join(head)]
