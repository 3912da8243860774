"""Runs of `opwright import`: from sources to a library file, and the comparison of the two."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from opwright.files.writer import write_file
from opwright.importing.comparison import RegistrationComparison, compare_registrations, generated_operators
from opwright.importing.cpp_reader import CPP_SUFFIXES, read_cpp_sources
from opwright.importing.library_file import LibraryHead, library_text
from opwright.importing.operators import ImportedOperators, import_operators
from opwright.importing.python_reader import read_python_sources
from opwright.importing.registration import RegistrationStatement, SourcePlace
from opwright.source import codes
from opwright.source.diagnostic import Diagnostics, Fault
from opwright.source.named_tuple import NamedTuple
from opwright.source.text import SourceFile

__all__ = ["ImportRequest", "ReadOperators", "Written", "check_import", "read_operators", "write_import"]

#: Words that every file with registrations has, one of them at least.
_WORDS: Final = ("TORCH_LIBRARY", "RegisterOperators")
_PYTHON_WORDS: Final = ("torch.library", "custom_op", "Library(")


class ImportRequest(NamedTuple):
    """What is imported: files and folders, modules, macros of the build; and the library file."""

    sources: tuple[str, ...]
    modules: tuple[str, ...]
    macros: Mapping[str, str]
    out: str


class Written(NamedTuple):
    """What a run wrote: how many operators, the lines that can be deleted by file, and the statements that stay."""

    operators: int
    deletable: Mapping[str, str]
    left: Sequence[tuple[SourcePlace, str]]


class ReadOperators(NamedTuple):
    """What was read: the statements, the operators that they register, and the head of the file."""

    statements: Sequence[RegistrationStatement]
    wholes: Sequence[tuple[SourcePlace, Sequence[SourcePlace]]]
    imported: ImportedOperators
    head: LibraryHead


def read_operators(request: ImportRequest) -> ReadOperators:
    """The operators of a request. Raises Fault if there are none, or if they cannot be in one file."""
    files = [SourceFile.read(path) for path in _paths(request.sources)]
    cpp = [file for file in files if file.path.endswith(CPP_SUFFIXES) and any(word in file.text for word in _WORDS)]
    python = [file for file in files if file.path.endswith(".py") and any(word in file.text for word in _PYTHON_WORDS)]
    read = read_cpp_sources(cpp, request.macros)
    from_python = read_python_sources(python)
    statements = [*read.statements, *from_python.statements]
    if request.modules:
        from opwright.importing.process import read_modules

        statements += read_modules(request.modules)
    imported = import_operators(statements)
    if not imported.operators:
        names = ", ".join([*request.sources, *request.modules])
        help = "name sources with `TORCH_LIBRARY` or `torch.library`"
        raise Fault.at(codes.NO_REGISTRATIONS, f"there are no registrations in {names or 'no source'}", help=help)
    for namespace, macro in read.unknown_macros.items():
        message = f"the namespace `{namespace}` depends on `{macro}`, a macro of the build"
        raise Fault.at(codes.UNKNOWN_MACRO, message, help=f"give its value: `--define {macro}=acme`")
    if len({statement.is_stable for statement in statements if statement.schema}) > 1:
        message = "some operators are registered through the stable C++ API, and others are not"
        raise Fault.at(codes.TWO_INTERFACES, message, help="import their sources into a file each")
    left = (*imported.left, *imported.refused, *read.unread, *from_python.unread)
    top = os.path.dirname(os.path.abspath(request.sources[0])) if request.sources else ""
    base = os.path.abspath(request.sources[0]) if request.sources and os.path.isdir(request.sources[0]) else top
    headers = tuple([os.path.relpath(path, base).replace(os.sep, "/") for path in read.headers])
    stem = os.path.splitext(os.path.basename(request.out))[0]
    places = [statement.place for statement in statements if statement.schema and statement.place.first]
    shown = tuple(dict.fromkeys([" ".join(os.path.normpath(place.path).split()) for place in places]))
    return ReadOperators(
        statements,
        read.wholes,
        imported._replace(left=left),
        LibraryHead(headers or (f"{stem}_kernels.h",), (*shown, *request.modules)),
    )


def _paths(sources: Iterable[str]) -> Iterator[str]:
    """The files that sources name, and the C++ and Python sources in folders."""
    for source in sources:
        if not os.path.isdir(source):
            yield source
            continue
        for folder, folders, names in os.walk(source):
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            for name in sorted(names):
                if name.endswith((*CPP_SUFFIXES, ".py")):
                    yield os.path.join(folder, name)


def write_import(request: ImportRequest, *, force: bool) -> Written:
    """Write the library file. Raises Fault if it exists, unless the run may replace it."""
    if os.path.lexists(request.out) and not force:
        message = f"`{request.out}` exists"
        raise Fault.at(codes.OUTPUT_EXISTS, message, help="name another file, or replace it with `--force`")
    read = read_operators(request)
    write_file(request.out, library_text(read.imported, read.head).encode())
    return Written(len(read.imported.operators), _ranges(_deletable(read)), read.imported.left)


def check_import(request: ImportRequest, torch: str, sink: Diagnostics) -> RegistrationComparison:
    """Compare what the code generated from the library file registers with what the sources register."""
    read = read_operators(request)
    generated = generated_operators(SourceFile.read(request.out), torch, sink)
    return compare_registrations(read.imported.operators, generated)


def _deletable(read: ReadOperators) -> Iterator[SourcePlace]:
    """The statements that a library file takes the place of, and what stood only around them."""
    taken = set(read.imported.taken)
    yield from read.imported.taken
    yield from [whole for whole, places in read.wholes if taken.issuperset(places)]


def _ranges(places: Iterable[SourcePlace]) -> dict[str, str]:
    """The lines by file, such as `3-7, 12`."""
    lines: dict[str, set[int]] = {}
    for place in places:
        if place.first:
            lines.setdefault(place.path, set()).update(range(place.first, place.last + 1))
    return {path: _range_text(sorted(own)) for path, own in lines.items()}


def _range_text(lines: Sequence[int]) -> str:
    parts: list[list[int]] = []
    for line in lines:
        if parts and parts[-1][1] == line - 1:
            parts[-1][1] = line
        else:
            parts.append([line, line])
    return ", ".join([str(first) if first == last else f"{first}-{last}" for first, last in parts])
