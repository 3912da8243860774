"""Edits of the sources of an import: lines that a library file takes the place of go, and kernels that it names move.

A kernel in an anonymous namespace, which only its own file can name, moves out of it where it is: the namespace ends
before it, and another one begins after it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from opwright.libraries.importing.registration import SourcePlace
from opwright.source.records import NamedTuple
from opwright.syntax.cpp_functions import Statement, function_of, statements
from opwright.syntax.cpp_source import CPP_SUFFIXES, CppSource, parse_cpp

_END: Final = "}  // namespace\n\n"
_BEGIN: Final = "\n\nnamespace {"
#: What stays of a namespace of which all functions moved.
_EMPTY: Final = re.compile(r"\n\nnamespace \{\s*\}(?:[ \t]*//[^\n]*)?")


class HiddenKernel(NamedTuple):
    """A function that only its own file can name: its name with namespaces, the plain name that it is to have, the
    statement that registers it, and what is said about it there.
    """

    name: str
    proposed: str
    place: SourcePlace
    note: str


class EditedSources(NamedTuple):
    """The texts of files before and after, the kernels that were moved, and files that have no more code."""

    before: Mapping[str, str]
    after: Mapping[str, str]
    moved: Sequence[HiddenKernel]
    empty: Sequence[str]


def edited_sources(
    texts: Mapping[str, str], deleted: Mapping[str, set[int]], hidden: Iterable[HiddenKernel]
) -> EditedSources:
    """The texts of files without lines, and with kernels that others can name."""
    after: dict[str, str] = {}
    moved: list[HiddenKernel] = []
    by_path: dict[str, list[HiddenKernel]] = {}
    for kernel in dict.fromkeys(hidden):
        by_path.setdefault(kernel.place.path, []).append(kernel)
    for path in dict.fromkeys((*deleted, *by_path)):
        # Places count characters of lines that end in `\n`.
        text = texts[path].replace("\r\n", "\n")
        source = parse_cpp(path, text)
        edits: list[tuple[int, int, str]] = [*_deletions(text, deleted.get(path, set()))]
        gone = [(start, end) for start, end, _ in edits]
        for kernel in by_path.get(path, ()):
            changes = [*_moves(kernel, source)]
            if changes:
                moved.append(kernel)
                edits += [row for row in changes if not any(start <= row[0] < end for start, end in gone)]
        for start, end, replacement in sorted(dict.fromkeys(edits), reverse=True):
            text = text[:start] + replacement + text[end:]
        text = _EMPTY.sub("", text) if path in by_path else text
        after[path] = text.replace("\n", "\r\n") if "\r\n" in texts[path] else text
    empty = [path for path, text in after.items() if path.endswith(CPP_SUFFIXES) and _is_empty(path, text)]
    return EditedSources({path: texts[path] for path in after}, after, moved, empty)


def _is_empty(path: str, text: str) -> bool:
    """Whether a source has nothing but includes, and names of namespaces and types."""
    return all(
        statement.head[:1] and statement.head[0].text == "using" for statement in statements(parse_cpp(path, text))
    )


def _deletions(text: str, lines: Iterable[int]) -> Iterator[tuple[int, int, str]]:
    """What deletes lines, which count from 1."""
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    for number in lines:
        yield starts[number - 1], starts[number], ""


def _moves(kernel: HiddenKernel, source: CppSource) -> Iterator[tuple[int, int, str]]:
    """What takes a kernel out of the anonymous namespace, or makes it not static, and gives it its new name."""
    plain = kernel.name.rpartition("::")[2]
    declarations = [
        statement
        for statement in statements(source)
        if (function := function_of(statement, source.path)) is not None and function.name == kernel.name
    ]
    # An outer namespace without a name would need more braces.
    if not declarations or any("" in statement.scope[:-1] for statement in declarations):
        return
    for statement in declarations:
        yield from ((token.start, token.end + 1, "") for token in statement.head if token.text == "static")
        if statement.scope[-1:] == ("",):
            start, end = _extent(statement, source)
            yield start, start, _END
            yield end, end, _BEGIN
    if kernel.proposed != plain:
        names = [token for token in source.tokens if token.kind == "name" and token.text == plain]
        yield from ((token.start, token.end, kernel.proposed) for token in names)


def _extent(statement: Statement, source: CppSource) -> tuple[int, int]:
    """Where the text of a statement begins, and where it ends with its last sign."""
    last = (statement.body or statement.head)[-1]
    end = next(token.end for token in source.tokens if token.start >= last.end and token.text in ("}", ";"))
    return statement.head[0].start, end
