"""Where the operators are that a file names: their entries, their derivatives, and everything that names them."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final

from opwright.dialects.table import DERIVATIVES, NATIVE_FUNCTIONS
from opwright.libraries.rows import LIBRARY
from opwright.release.inputs import Inputs
from opwright.source.records import NamedTuple
from opwright.source.span import Span
from opwright.source.text import SourceFile
from opwright.syntax.cpp_source import CPP_SUFFIXES
from opwright.tools.lsp.argument_places import argument_at
from opwright.tools.lsp.cursor import cursor_at, word_at
from opwright.tools.lsp.formulas import formula_at
from opwright.tools.lsp.library import NamedKernel, kernel_at, named_kernels, names_kernel
from opwright.tools.lsp.operators import (
    OperatorEntry,
    entries_of,
    entry_at,
    load_operation,
    operator_entries,
    plain_name,
)
from opwright.tools.lsp.project import Project, kind_of
from opwright.tools.lsp.sources import cpp_functions, entries_of_function, helper_functions, python_functions

#: What comes before the name of an operator in a line: the dash of an item, or a field, of which two may have lists.
_BEFORE_NAME: Final = re.compile(
    r"(?:\s*(?:- +)+|.*\b(?:func|name|aten) *: *|.*\b(?:structured_delegate|autogen) *: *(?:[^#]*[^#\w.])?)"
    r"[\"']?(?:aten::)?"
)

_MOST_SYMBOLS: Final = 200


class Symbol(NamedTuple):
    """An operator with an entry in a file: its name, the place of the name, the entry, its schema, and its kernels.

    Only library files say more of kernels than their names, so other files have none here.
    """

    name: str
    place: Span
    entry: Span
    schema: str
    kernels: tuple[NamedKernel, ...] = ()


def _native(project: Project, file: SourceFile) -> tuple[Inputs, SourceFile] | None:
    inputs = project.inputs_of(file)
    return None if inputs is None else (inputs, NATIVE_FUNCTIONS.files(inputs)[0])


def definitions_at(project: Project, file: SourceFile, offset: int) -> list[Span]:
    """What defines the name at an offset: the entry of an operator, the function of a kernel or of a formula's helper.

    From the name in an entry itself, this leads to what the entry delegates to, or to its derivative; from a function
    in a C++ source to what names it.
    """
    if file.path.endswith(CPP_SUFFIXES):
        return entries_of_function(project, file.path, word_at(file, offset).text.rpartition("::")[2])
    functions = _functions_at(project, file, offset)
    if functions is not None:
        return functions
    name = plain_name(word_at(file, offset).text)
    places = [entry.place for entry in _entries(project, file, name)]
    away = [place for place in places if not (place.file.path == file.path and place.start <= offset <= place.end)]
    if away or not places:
        return away
    return _delegates(project, file, name) or derivatives_at(project, file, offset) or places


def _functions_at(project: Project, file: SourceFile, offset: int) -> list[Span] | None:
    """The functions of the kernel or of the helper of formulas that is named at an offset; None for other names."""
    kernel = kernel_at(file, offset) if kind_of(file) is LIBRARY else None
    if kernel is not None and kernel.is_python:
        return list(python_functions(project, file, kernel.name))
    cursor = cursor_at(file, offset)
    name = kernel.name if kernel is not None else cursor.word.text
    if kernel is not None or names_kernel(kind_of(file), cursor):
        return cpp_functions(project, file, name)
    inputs = project.inputs_of(file)
    if inputs is None or formula_at(file, offset) is None:
        return None
    name = name.rpartition("::")[2]
    return helper_functions(inputs, name) or _overloads(project, file, name)


def _overloads(project: Project, file: SourceFile, name: str) -> list[Span]:
    native = _native(project, file)
    entries = () if native is None else entries_of(native[1])
    return [entry.place for entry in entries if entry.name.partition(".")[0] == name]


def _entries(project: Project, file: SourceFile, name: str) -> Iterator[OperatorEntry]:
    native = _native(project, file)
    files = [file] if native is None else [native[1], file]
    yield from islice((entries[name] for entries in map(operator_entries, files) if name in entries), 1)


def _delegates(project: Project, file: SourceFile, name: str) -> list[Span]:
    """The out overload whose structured kernel serves an operator."""
    native = _native(project, file)
    if native is None:
        return []
    entries = operator_entries(native[1])
    delegates = [
        str(function.structured_delegate)
        for function in load_operation(native[0], name)
        if function.name.text == name and function.structured_delegate is not None
    ]
    return [entries[delegate].place for delegate in delegates if delegate in entries]


def derivatives_at(project: Project, file: SourceFile, offset: int) -> list[Span]:
    """The entries in `derivatives.yaml` of the operator that is named at an offset."""
    inputs, name = project.inputs_of(file), plain_name(word_at(file, offset).text)
    derivatives = None if inputs is None else inputs.read_optional(DERIVATIVES.inputs[0])
    return [] if derivatives is None else [entry.place for entry in entries_of(derivatives) if entry.name == name]


def references_at(project: Project, file: SourceFile, offset: int) -> list[Span]:
    """Every place that names the operator at an offset, in the files of its PyTorch and in open files."""
    name = plain_name(word_at(file, offset).text)
    return list(places_of(project.related_files(file), name)) if name else []


def places_of(files: Iterable[SourceFile], name: str) -> Iterator[Span]:
    """Where files name an operator: as an item of a list, or in a field that names operators."""
    pattern = re.compile(rf"(?<![\w.]){re.escape(name)}(?![\w.])")
    for file in files:
        for match in pattern.finditer(file.text):
            line_start = file.text.rfind("\n", 0, match.start()) + 1
            # A list of kernels looks like one of operators.
            is_kernel = kind_of(file) is LIBRARY and kernel_at(file, match.start()) is not None
            if _BEFORE_NAME.fullmatch(file.text, line_start, match.start()) and not is_kernel:
                yield file.span(*match.span())


def highlights_at(file: SourceFile, offset: int) -> Iterator[Span]:
    """The places in a file that name what is at an offset.

    An argument is named in its entry, also as the `_p` and `_t` of forward formulas. Any other word is looked for in
    the whole file.
    """
    argument, entry, word = argument_at(file, offset), entry_at(file, offset), word_at(file, offset).text
    if argument is not None and entry is not None:
        pattern, part = re.compile(rf"(?<![\w.])({argument.text})(?=(?:_[pt])?(?!\w))"), entry.entry
    elif plain_name(word) in operator_entries(file):
        yield from places_of([file], plain_name(word))
        return
    else:
        pattern, part = re.compile(rf"(?<![\w.])({re.escape(word)})(?![\w.])"), file.span(0, len(file.text))
    for match in pattern.finditer(file.text, part.start, part.end) if word else ():
        if "#" not in file.text[file.text.rfind("\n", 0, match.start()) + 1 : match.start()]:
            yield file.span(*match.span(1))


def symbols_in(file: SourceFile) -> list[Symbol]:
    """The operators of a file."""
    kernels = named_kernels(file) if kind_of(file) is LIBRARY else ()
    starts = [kernel.place.start for kernel in kernels]
    symbols = []
    for name, place, schema, entry in entries_of(file):
        entry_kernels = kernels[bisect_left(starts, entry.start) : bisect_left(starts, entry.end)]
        symbols.append(Symbol(name, place, entry, schema, entry_kernels))
    return symbols


def symbols_of_project(project: Project, query: str) -> list[Symbol]:
    """The operators of open files and of their PyTorch whose names contain a text."""
    files = {}
    for text in project.texts.values():
        for file in project.related_files(text):
            files[file.path] = file
    symbols = (symbol for file in files.values() for symbol in symbols_in(file) if query in symbol.name)
    return list(islice(symbols, _MOST_SYMBOLS))
