"""Edits of the sources of an import: statements that a library file takes the place of go, and kernels that it names
move.

A kernel in an anonymous namespace, which only its own file can name, moves out of it where it is: the namespace ends
before it, and another one begins after it. What cannot be edited without a doubt stays, and is named.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from types import MappingProxyType
from typing import Final

from opwright.files.writer import check_links
from opwright.migrate.importing.cpp_cuts import CppCutter, keeps_all_else
from opwright.migrate.importing.cuts import ByteEdit, BytePlaces, applied
from opwright.migrate.importing.python_cuts import PythonCutter
from opwright.migrate.importing.registration import SourcePlace
from opwright.source.diagnostic import Fault
from opwright.source.records import NamedTuple
from opwright.source.text import SourceFile
from opwright.syntax.cpp_functions import Statement, function_of, statements
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
    lines: Mapping[str, Sequence[tuple[int, int]]]
    stays: Sequence[tuple[SourcePlace, str]]


class _EditedSource(NamedTuple):
    """A file after its edits, as `EditedSources` has it."""

    text: str
    moved: Sequence[HiddenKernel] = ()
    lines: Sequence[tuple[int, int]] = ()
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
    for path in by_path:
        if path not in texts:
            continue
        elsewhere: frozenset[str] = frozenset().union(*[own for other, own in words.items() if other != path])
        if path.endswith(".py"):
            edited[path] = _edited_python(texts[path], by_path[path])
        else:
            is_included = any(os.path.basename(path) in file.text for other, file in texts.items() if other != path)
            source = _CppEdit(texts[path], others.get(path, ()), elsewhere, is_included=is_included)
            edited[path] = source.edited(by_path[path], kernels.get(path, ()))
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


def _left(path: str, places: Iterable[SourcePlace]) -> Iterator[tuple[SourcePlace, str]]:
    """The places of a file that is not changed at all, with the reason; none if it may be."""
    try:
        check_links(path)
    except Fault as fault:
        yield from [(place, str(fault.diagnostic.message)) for place in places]


def _edited_python(file: SourceFile, places: Sequence[SourcePlace]) -> _EditedSource:
    if left := [*_left(file.path, places)]:
        return _EditedSource(file.text, stays=left)
    cutter = PythonCutter(file.text)
    stays = [(place, reason) for place in places if (reason := _added(cutter, place))]
    edits, lines, _ = cutter.edits()
    if not edits:
        return _EditedSource(file.text, stays=stays)
    if not cutter.keeps_all_else():
        return _EditedSource(file.text, stays=[(place, _DIFFERENT) for place in places])
    return _EditedSource(applied(cutter.places.raw, edits).decode(), lines=lines, stays=stays)


def _added(cutter: CppCutter | PythonCutter, place: SourcePlace) -> str:
    """Why a statement stays; empty if it is cut."""
    return cutter.add(place.at) if place.at >= 0 else "a loop, a function or a macro registers it with other things"


class _CppEdit:
    """The edits of one source."""

    def __init__(
        self, file: SourceFile, others: Sequence[int], elsewhere: frozenset[str], *, is_included: bool
    ) -> None:
        self._file = file
        self._text = file.text.replace("\r\n", "\n")
        self._others = others
        self._elsewhere = elsewhere
        self._is_included = is_included
        self._places = BytePlaces(file.text)

    def edited(self, places: Sequence[SourcePlace], kernels: Sequence[HiddenKernel]) -> _EditedSource:
        """The source without these statements, and with these kernels that others can name."""
        if left := [*_left(self._file.path, places)]:
            return _EditedSource(self._file.text, stays=left)
        source = parse_cpp(self._file.path, self._file.text)
        moves: list[ByteEdit] = []
        moved: list[HiddenKernel] = []
        stays: list[tuple[SourcePlace, str]] = []
        for kernel in kernels:
            edits, reason = self._moves(kernel, source)
            if reason:
                stays.append((kernel.place, f"`{kernel.name}` cannot move out of its anonymous namespace: {reason}"))
            else:
                moved.append(kernel)
                moves += edits
        staying = {place for place, _ in stays}
        cutter = CppCutter(self._file.text, self._others, self._elsewhere, is_included=self._is_included)
        rest = [place for place in places if place not in staying]
        stays += [(place, reason) for place in rest if (reason := _added(cutter, place))]
        cuts, lines, more = cutter.edits()
        stays += [(SourcePlace(self._file.path, line, line), reason) for line, reason in more]
        gone = [(edit.start, edit.end) for edit in cuts]
        moves = [row for row in dict.fromkeys(moves) if not any(start <= row.start < end for start, end in gone)]
        edits = [*cuts, *self._merged(moves)]
        if not edits:
            return _EditedSource(self._file.text, stays=stays)
        if not keeps_all_else(self._places.raw, edits):
            return _EditedSource(self._file.text, stays=[(place, _DIFFERENT) for place in places])
        return _EditedSource(applied(self._places.raw, edits).decode(), moved, lines, stays)

    def _merged(self, moves: Sequence[ByteEdit]) -> list[ByteEdit]:
        """Edits without a namespace that would be empty, where one function that moves follows another."""
        left = sorted(moves)
        for first, second in pairwise(left[:]):
            between = self._places.raw[first.end : second.start].decode("latin-1")
            if first.text.strip() == _BEGIN.strip() and second.text == _END and not [*cpp_tokens(between)]:
                left.remove(first)
                left.remove(second)
        return left

    def _moves(self, kernel: HiddenKernel, source: CppSource) -> tuple[list[ByteEdit], str]:
        """What takes a kernel out of the anonymous namespace, or makes it not static, and gives it its new name.

        Or the reason why it stays where it is.
        """
        plain = kernel.name.rpartition("::")[2]
        declarations = [
            statement
            for statement in statements(source)
            if (function := function_of(statement, source.path)) is not None and function.name == kernel.name
        ]
        # An outer namespace without a name would need more braces.
        if not declarations or any("" in statement.scope[:-1] for statement in declarations):
            return [], "namespaces without a name are around each other, or it is no plain function"
        directives = [
            token.start for token in cpp_tokens(self._text, with_directives=True) if token.kind == "directive"
        ]
        newline = b"\r\n" if "\r\n" in self._file.text else b"\n"
        edits: list[ByteEdit] = []
        for statement in declarations:
            start, end = _extent(statement, source)
            if any(start <= at < end for at in directives):
                return [], "a condition of the preprocessor divides it"
            words = [token for token in statement.head if token.text in ("static", "inline")]
            edits += [ByteEdit(self._places.byte(token.start), self._after_word(token)) for token in words]
            if statement.scope[-1:] == ("",):
                first, last = self._places.byte(start), self._places.byte(end)
                edits.append(ByteEdit(first, first, _END.replace(b"\n", newline)))
                edits.append(ByteEdit(last, last, _BEGIN.replace(b"\n", newline)))
        if kernel.proposed == plain:
            return edits, ""
        renamed = self._renamed(source, plain, kernel.proposed)
        return ([*edits, *renamed], "") if renamed else ([], f"other things have its name, or `{kernel.proposed}`")

    def _after_word(self, token: Token) -> int:
        """Where a word ends with the blank behind it."""
        end = self._places.byte(token.end)
        return end + (self._places.raw[end : end + 1] in (b" ", b"\t"))

    def _renamed(self, source: CppSource, plain: str, proposed: str) -> list[ByteEdit]:
        """What gives all uses of a function another name; none if a use may be one of another thing."""
        named: list[Token] = []
        for before, token in pairwise([source.tokens[0], *source.tokens]):
            if token.kind == "name" and token.text == plain:
                if before.text in (".", "->"):
                    return []
                named.append(token)
            elif token.text == proposed:
                return []
        words: Collection[str] = {
            word
            for token in cpp_tokens(self._text, with_directives=True)
            if token.kind == "directive"
            for word in _WORD.findall(token.text)
        }
        if {plain, proposed}.intersection(words):
            return []
        new = proposed.encode()
        return [ByteEdit(self._places.byte(token.start), self._places.byte(token.end), new) for token in named]


def _extent(statement: Statement, source: CppSource) -> tuple[int, int]:
    """Where the text of a statement begins, and where it ends with its last sign."""
    last = (statement.body or statement.head)[-1]
    end = next(token.end for token in source.tokens if token.start >= last.end and token.text in ("}", ";"))
    return statement.head[0].start, end
