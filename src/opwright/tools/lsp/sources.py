"""The functions in the C++ and Python sources of a project: those of kernels, and of helpers that formulas call.

The kernels of PyTorch are in too many sources to parse them, so these are searched for functions that begin a line.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise
from typing import Final

from opwright.backends.rows import BACKEND
from opwright.dialects.derivatives.formula_helpers import declared_helpers
from opwright.dialects.table import NATIVE_FUNCTIONS
from opwright.libraries.rows import LIBRARY
from opwright.release.inputs import Inputs
from opwright.source.diagnostic import Diagnostic, Fault
from opwright.source.span import Span
from opwright.source.text import SourceFile
from opwright.syntax.cpp_functions import function_of, statements
from opwright.syntax.cpp_source import CPP_SUFFIXES, read_cpp
from opwright.tools.lsp.formulas import declarations_of
from opwright.tools.lsp.operators import entries_of
from opwright.tools.lsp.project import Project, kind_of, tree_of
from opwright.workspace.project_files import MADE_FOLDERS, files_below, folders_above

#: Files at the top of a project.
_TOP_FILES: Final = ("pyproject.toml", "setup.py", "CMakeLists.txt", ".git")
_MOST_FILES: Final = 5000
#: A function that begins a line, or one of the macros that define structured kernels.
_AT_LINE_START: Final = (
    r"(?m)^(?:TORCH_IMPL_FUNC\s*\(\s*"
    r"|(?!(?:return|if|for|while|switch|else|using|typedef)\b)[A-Za-z_][\w:<>,&* ]*?[ &*>:]"
    r"|(?<=[&>*\w]\n))({})\s*[()]"
)


def python_functions(project: Project, file: SourceFile, name: str) -> Iterator[Span]:
    """Where `module:function` is defined, in a package or a module below the top of the project."""
    module, _, function = name.partition(":")
    path = module.replace(".", os.sep)
    pattern = re.compile(rf"(?m)^(?:def +({re.escape(function)})\b|({re.escape(function)}) *=)")
    for source_path in _sources(file, (f"{os.sep}{path}.py", os.path.join(f"{os.sep}{path}", "__init__.py"))):
        source = project.read(source_path)
        if source is not None:
            yield from [source.span(*match.span(match.lastindex or 0)) for match in pattern.finditer(source.text)]


def _project_folder(path: str) -> str:
    """The top of the project that has a file."""
    folder = os.path.dirname(os.path.abspath(path))
    for above in folders_above(folder):
        if any(os.path.exists(os.path.join(above, name)) for name in _TOP_FILES):
            return above
    return folder


def _sources(file: SourceFile, endings: tuple[str, ...]) -> Iterator[str]:
    """The files with these endings in the project that has a file, or those with the kernels of PyTorch's tree."""
    if _is_in_tree(file):
        return files_below(os.path.dirname(os.path.abspath(file.path)), endings)
    return files_below(_project_folder(file.path), endings, skipped=MADE_FOLDERS, most=_MOST_FILES)


def _is_in_tree(file: SourceFile) -> bool:
    kind = kind_of(file)
    return kind is NATIVE_FUNCTIONS and tree_of(file.path, kind) is not None


def cpp_functions(project: Project, file: SourceFile, name: str) -> list[Span]:
    """Where the C++ sources of an operator file define a function; where they declare it if nowhere."""
    wanted = name.split("::")
    if _is_in_tree(file):
        return _tree_functions(project, file, wanted[-1])
    declared: list[Span] = []
    defined: list[Span] = []
    for path in _sources(file, CPP_SUFFIXES):
        source = project.read(path)
        for parsed, place, is_defined in (
            () if source is None or wanted[-1] not in source.text else _parsed(project, source)
        ):
            if parsed.split("::")[-len(wanted) :] == wanted:
                (defined if is_defined else declared).append(place)
    return defined or declared


def _parsed(project: Project, source: SourceFile) -> Iterator[tuple[str, Span, bool]]:
    """The functions of a source: the name, its place, and whether they are defined there.

    A source that asks for too much work has no functions to go to, and the project gets the diagnostic.
    """
    functions, fault = _parsed_text(source.path, source.text)
    project.note_limit(source, fault)
    for name, start, end, is_defined in functions:
        yield name, source.span(start, end), is_defined


@lru_cache(maxsize=256)
def _parsed_text(path: str, text: str) -> tuple[tuple[tuple[str, int, int, bool], ...], Diagnostic | None]:
    functions = []
    try:
        for statement in statements(read_cpp(path, text)):
            function = function_of(statement, path)
            if function is not None:
                name = next(pair[0] for pair in pairwise(statement.head) if pair[1].text == "(")
                functions.append((function.name, name.start, name.end, bool(statement.body)))
    except Fault as fault:
        return (), fault.diagnostic
    return tuple(functions), None


def _tree_functions(project: Project, file: SourceFile, name: str) -> list[Span]:
    """Where PyTorch's sources define a kernel: as a function, or as a structured one with its macro."""
    pattern = re.compile(_AT_LINE_START.format(re.escape(name)))
    places = []
    for path in _sources(file, CPP_SUFFIXES):
        source = project.read(path)
        if source is not None and name in source.text:
            places += [source.span(*match.span(1)) for match in pattern.finditer(source.text)]
    return [place for place in places if not place.file.path.endswith(".h")] or places


def function_names(project: Project, file: SourceFile, start: str) -> Iterator[str]:
    """The functions that the C++ sources of an operator file define, as far as their names begin with a text."""
    if _is_in_tree(file):
        pattern = re.compile(_AT_LINE_START.format(rf"{re.escape(start)}\w*"))
        for path in _sources(file, CPP_SUFFIXES):
            source = project.read(path)
            yield from () if source is None else [match[1] for match in pattern.finditer(source.text)]
        return
    for path in _sources(file, CPP_SUFFIXES):
        source = project.read(path)
        for name, _, is_defined in () if source is None else _parsed(project, source):
            plain_name = name.rpartition("::")[2]
            if is_defined and plain_name.startswith(start):
                yield plain_name


def helper_functions(inputs: Inputs, name: str) -> list[Span]:
    """Where a function that formulas call is defined, in a source tree; where it is declared elsewhere."""
    declared = [declaration.span for declaration in declarations_of(inputs, name)]
    defined: list[Span] = []
    for header in dict.fromkeys([str(span.file.path) for span in declared]):
        try:
            source = SourceFile.read_plain(os.path.splitext(header)[0] + ".cpp")
        except Fault:
            continue
        defined += [helper_declaration.span for helper_declaration in declared_helpers(source).get(name, ())]
    return defined or declared


def entries_of_function(project: Project, path: str, name: str) -> list[Span]:
    """Where operator files name a function of a C++ source: as a kernel, or in a formula.

    A function that no file names may be the kernel that an entry without `dispatch` has: then this is the entry.
    """
    files = list(_operator_files(project, path))
    named = [place for file in files for place in _named_in(file, name)]
    if named:
        return named
    return [entry.place for file in files for entry in entries_of(file) if entry.name.replace(".", "_") == name]


def _named_in(file: SourceFile, name: str) -> Iterator[Span]:
    """Where the entries of a file name a function, behind their first lines, which have the schemas."""
    pattern = re.compile(rf"(?<![\w.]){re.escape(name)}(?![\w.])(?!\s*:(?!:))")
    for entry in entries_of(file) if name in file.text else ():
        start = file.text.find("\n", entry.place.end)
        for match in pattern.finditer(file.text, max(start, entry.place.end), entry.entry.end):
            line = file.text[file.text.rfind("\n", 0, match.start()) + 1 : match.start()]
            if "#" not in line:
                yield file.span(*match.span())


def _operator_files(project: Project, path: str) -> Iterator[SourceFile]:
    """The operator files that a C++ source may belong to: those of its tree of PyTorch, or those of its project."""
    for above in folders_above(os.path.dirname(path)):
        for name in ("native_functions.yaml", os.path.join("tools", "autograd", "derivatives.yaml")):
            file = project.read(os.path.join(above, name))
            if file is not None:
                yield file
                return
    for name in files_below(_project_folder(path), (".yaml", ".yml"), skipped=MADE_FOLDERS, most=_MOST_FILES):
        file = project.read(name)
        if file is not None and kind_of(file) in (LIBRARY, BACKEND):
            yield file
