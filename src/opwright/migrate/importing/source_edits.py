"""Edits of the sources of an import: statements that a library file takes the place of go, and kernels that it names
move.

A kernel in an anonymous namespace, which only its own file can name, moves out of it where it is: the namespace ends
before it, and another one begins after it. What cannot be edited without a doubt stays, and is named.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from types import MappingProxyType
from typing import Final

from opwright.files.writer import check_links
from opwright.migrate.importing.cpp_cuts import CppCutter
from opwright.migrate.importing.cuts import ByteEdit, BytePlaces, applied
from opwright.migrate.importing.python_cuts import PythonCutter
from opwright.migrate.importing.registration import SourcePlace
from opwright.source.diagnostic import Fault
from opwright.source.records import NamedTuple
from opwright.source.text import SourceFile
from opwright.syntax.cpp_functions import Statement, functions, statements
from opwright.syntax.cpp_source import CPP_SUFFIXES, CppSource, parse_cpp
from opwright.syntax.cpp_tokens import Token, cpp_tokens

_END: Final = b"}  // namespace\n\n"
_BEGIN: Final = b"\n\nnamespace {"
_WORD: Final = re.compile(r"\w+")
_DIFFERENT: Final = "what would be left of the source reads as other code"


class HiddenKernel(NamedTuple):
    """A function that only its own file can name: its name with namespaces, the plain name that it is to have, the
    statement that registers it, and what is said about it there.
    """

    name: str
    proposed: str
    place: SourcePlace
    note: str


class EditedSources(NamedTuple):
    """The texts of files before and after, the kernels that were moved, and files that have no more code.

    `lines` are those of what goes, by file, and `stays` what cannot go or move, with the reason.
    """

    before: Mapping[str, str]
    after: Mapping[str, str]
    moved: Sequence[HiddenKernel]
    empty: Sequence[str]
    lines: Mapping[str, Collection[int]]
    stays: Sequence[tuple[SourcePlace, str]]


class _EditedSource(NamedTuple):
    """A file after its edits, as `EditedSources` has it."""

    text: str
    moved: Sequence[HiddenKernel] = ()
    lines: Collection[int] = ()
    stays: Sequence[tuple[SourcePlace, str]] = ()


def edited_sources(
    files: Iterable[SourceFile],
    needless: Iterable[SourcePlace],
    hidden: Iterable[HiddenKernel],
    others: Mapping[str, Sequence[int]] = MappingProxyType({}),
) -> EditedSources:
    """The texts of files without statements, and with kernels that others can name.

    `others` are the places of other code in blocks of registrations, by file.
    """
    by_path: dict[str, list[SourcePlace]] = {}
    for place in dict.fromkeys(needless):
        by_path.setdefault(place.path, []).append(place)
    kernels: dict[str, list[HiddenKernel]] = {}
    for kernel in dict.fromkeys(hidden):
        kernels.setdefault(kernel.place.path, []).append(kernel)
    texts = {file.path: file for file in files}
    words = {path: frozenset(_WORD.findall(file.text)) for path, file in texts.items() if path.endswith(CPP_SUFFIXES)}
    edited: dict[str, _EditedSource] = {}
    for path, places in by_path.items():
        if path not in texts:
            continue
        cutter: CppCutter | PythonCutter
        if path.endswith(".py"):
            cutter = PythonCutter(texts[path].text)
        else:
            elsewhere: frozenset[str] = frozenset().union(*[own for other, own in words.items() if other != path])
            is_included = any(os.path.basename(path) in file.text for other, file in texts.items() if other != path)
            cutter = CppCutter(texts[path].text, others.get(path, ()), elsewhere, is_included=is_included)
        edited[path] = _edited(texts[path], cutter, places, kernels.get(path, ()))
    after = {path: row.text for path, row in edited.items() if row.text != texts[path].text}
    return EditedSources(
        {path: texts[path].text for path in after},
        after,
        [kernel for row in edited.values() for kernel in row.moved],
        [path for path, text in after.items() if path.endswith(CPP_SUFFIXES) and _is_empty(path, text)],
        {path: row.lines for path, row in edited.items() if row.lines},
        [stay for row in edited.values() for stay in row.stays],
    )


def _is_empty(path: str, text: str) -> bool:
    """Whether a source has nothing but includes, and names of namespaces and types."""
    return all(
        statement.head[:1] and statement.head[0].text == "using" for statement in statements(parse_cpp(path, text))
    )


def _edited(
    file: SourceFile, cutter: CppCutter | PythonCutter, places: Sequence[SourcePlace], kernels: Sequence[HiddenKernel]
) -> _EditedSource:
    """A source without these statements, and with these kernels that others can name."""
    try:
        check_links(file.path)
    except Fault as fault:
        return _EditedSource(file.text, stays=[(place, str(fault.diagnostic.message)) for place in places])
    moves: list[ByteEdit] = []
    moved: list[HiddenKernel] = []
    stays: list[tuple[SourcePlace, str]] = []
    moving = _MovedKernels(file, cutter.places)
    for kernel in kernels:
        edits, reason = moving.moves(kernel)
        if reason:
            stays.append((kernel.place, f"`{kernel.name}` cannot move out of its anonymous namespace: {reason}"))
        else:
            moved.append(kernel)
            moves += edits
    staying = {place for place, _ in stays}
    together = "a loop, a function or a macro registers it with other things"
    for place in places:
        if place not in staying and (reason := cutter.add(place.at) if place.at >= 0 else together):
            stays.append((place, reason))
    cuts, lines, more = cutter.edits()
    stays += [(SourcePlace(file.path, line, line), reason) for line, reason in more]
    gone = [(edit.start, edit.end) for edit in cuts]
    moves = [row for row in dict.fromkeys(moves) if not any(start <= row.start < end for start, end in gone)]
    edits = [*cuts, *moving.merged(moves)]
    if not edits:
        return _EditedSource(file.text, stays=stays)
    if not cutter.keeps_all_else(edits):
        return _EditedSource(file.text, stays=[(place, _DIFFERENT) for place in places])
    numbers = {line for first, last in lines for line in range(first, last + 1)}
    return _EditedSource(applied(cutter.places.raw, edits).decode(), moved, numbers, stays)


class _MovedKernels:
    def __init__(self, file: SourceFile, places: BytePlaces) -> None:
        self._file = file
        self._text = file.text.replace("\r\n", "\n")
        self._newline = b"\r\n" if "\r\n" in file.text else b"\n"
        self._places = places

    @cached_property
    def _source(self) -> CppSource:
        return parse_cpp(self._file.path, self._file.text)

    def merged(self, moves: Sequence[ByteEdit]) -> list[ByteEdit]:
        """Edits without a namespace that would be empty, where one function that moves follows another."""
        left = sorted(moves)
        for first, second in pairwise(left[:]):
            between = self._places.raw[first.end : second.start].decode("latin-1")
            if first.text.strip() == _BEGIN.strip() and second.text == _END and not [*cpp_tokens(between)]:
                left.remove(first)
                left.remove(second)
        return left

    def moves(self, kernel: HiddenKernel) -> tuple[list[ByteEdit], str]:
        """What takes a kernel out of the anonymous namespace, or makes it not static, and gives it its new name.

        Or the reason why it stays where it is.
        """
        source, plain = self._source, kernel.name.rpartition("::")[2]
        declarations = [statement for function, statement in functions(source) if function.name == kernel.name]
        # An outer namespace without a name would need more braces.
        if not declarations or any("" in statement.scope[:-1] for statement in declarations):
            return [], "namespaces without a name are around each other, or it is no plain function"
        directives = [
            token.start for token in cpp_tokens(self._text, with_directives=True) if token.kind == "directive"
        ]
        edits: list[ByteEdit] = []
        for statement in declarations:
            start, end = _extent(statement, source)
            if any(start <= at < end for at in directives):
                return [], "a condition of the preprocessor divides it"
            words = [token for token in statement.head if token.text in ("static", "inline")]
            edits += [ByteEdit(self._places.byte(token.start), self._after_word(token)) for token in words]
            if statement.scope[-1:] == ("",):
                first, last = self._places.byte(start), self._places.byte(end)
                edits.append(ByteEdit(first, first, _END.replace(b"\n", self._newline)))
                edits.append(ByteEdit(last, last, _BEGIN.replace(b"\n", self._newline)))
        if kernel.proposed == plain:
            return edits, ""
        renamed = self._renamed(plain, kernel.proposed)
        return ([*edits, *renamed], "") if renamed else ([], f"other things have its name, or `{kernel.proposed}`")

    def _after_word(self, token: Token) -> int:
        """Where a word ends with the blank behind it."""
        end = self._places.byte(token.end)
        return end + (self._places.raw[end : end + 1] in (b" ", b"\t"))

    def _renamed(self, plain: str, proposed: str) -> list[ByteEdit]:
        """What gives all uses of a function another name; none if a use may be one of another thing."""
        named: list[Token] = []
        for before, token in pairwise([self._source.tokens[0], *self._source.tokens]):
            if token.kind == "name" and token.text == plain:
                if before.text in (".", "->"):
                    return []
                named.append(token)
            elif token.text == proposed:
                return []
        tokens = cpp_tokens(self._text, with_directives=True)
        directives = " ".join([token.text for token in tokens if token.kind == "directive"])
        if not {plain, proposed}.isdisjoint(_WORD.findall(directives)):
            return []
        new = proposed.encode()
        return [ByteEdit(self._places.byte(token.start), self._places.byte(token.end), new) for token in named]


def _extent(statement: Statement, source: CppSource) -> tuple[int, int]:
    """Where the text of a statement begins, and where it ends with its last sign."""
    last = (statement.body or statement.head)[-1]
    end = next(token.end for token in source.tokens if token.start >= last.end and token.text in ("}", ";"))
    return statement.head[0].start, end
