"""Mistakes in what `setup.py` says of a build, and in sources, that are found before anything is compiled."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from opwright.libraries import library_codes
from opwright.libraries.operator_library import OperatorLibrary
from opwright.source.codes import FILE_MISSING
from opwright.source.diagnostic import Diagnostics, Fault, Suggestion, did_you_mean
from opwright.source.span import Span
from opwright.source.spelling import nearest_name
from opwright.source.text import SourceFile
from opwright.syntax.cpp_source import CPP_HEADERS, CPP_SUFFIXES, parse_cpp
from opwright.syntax.cpp_tokens import Token, closing_index
from opwright.workspace.project_files import MADE_FOLDERS, files_below

_SETUP: Final = "setup.py"
_PATTERN: Final = re.compile(r"[*?\[]")
#: Standards of C++ before those that all headers of PyTorch need.
_OLD_STANDARD: Final = re.compile(r"[-/]std[=:](?:c|gnu)\+\+(?:98|03|0x|11|1y|14)")
_REGISTERING: Final = re.compile(r"(?:STABLE_)?TORCH_LIBRARY(?:_FRAGMENT)?")
_MOST_FILES: Final = 2000


def check_arguments(
    package: str,
    *,
    packages: Sequence[str],
    paths: Iterable[str],
    flags: Iterable[str],
    unknown: Iterable[str],
    options: Sequence[str],
    sink: Diagnostics,
) -> None:
    """Report arguments of `operator_library` and `backend` that no build can use, at their places in `setup.py`.

    `package` is one that has no folder and gets none, empty otherwise, and `packages` are those of the project, `paths`
    the library files and the sources, `flags` those for the compiler, and `unknown` the names that are not among the
    `options`.
    """
    if package:
        listed = ", ".join([f"`{name}`" for name in packages[:5]])
        help = did_you_mean(package, packages, f"the project has {listed}" if listed else "make its folder")
        sink.error(library_codes.BUILD_ARGUMENT, f"no package `{package}`", _place(package), help=help)
    for name in unknown:
        # A backend lacks some of the options of a library.
        others = [option for option in options if option != name]
        span = _place(rf"\b{name}(?=\s*=)", is_text=False)
        sink.error(library_codes.BUILD_ARGUMENT, f"no option `{name}`", span, help=did_you_mean(name, others))
    for path in paths:
        if not os.path.exists(path):
            sink.error(FILE_MISSING, f"no such file: `{path}`", _place(path), help=_path_help(path))
    for flag in flags:
        if _OLD_STANDARD.fullmatch(flag):
            message = f"PyTorch's headers need a newer C++ than `{flag}` asks for"
            sink.error(library_codes.BUILD_ARGUMENT, message, _place(flag), help="delete the flag: the build adds one")


def is_new_package(package: str, packages: Iterable[str]) -> bool:
    """Whether a build makes the folder of a package: another one of the project has it, and it is not misspelt.

    >>> packages = ["acme", "acme.ops"]
    >>> [is_new_package(name, packages) for name in ("acme.generated", "acme.opz", "acne", "acne.generated")]
    [True, False, False, False]
    """
    parent, _, name = package.rpartition(".")
    siblings = [other.rpartition(".")[2] for other in packages if other.rpartition(".")[0] == parent]
    return parent in packages and not nearest_name(name, siblings)


def _place(text: str, *, is_text: bool = True) -> Span | None:
    """Place of a text in `setup.py`, or of a pattern, if it is there once."""
    try:
        file = SourceFile.read(_SETUP)
    except Fault:
        return None
    pattern = rf"(?<=[\"']){re.escape(text)}(?=[\"'])" if is_text else text
    places = [match.span() for match in re.finditer(pattern, file.text)]
    return file.span(*places[0]) if len(places) == 1 else None


def _path_help(path: str) -> str | Suggestion:
    if _PATTERN.search(path):
        return f'write `sorted(glob("{path}"))`, with `from glob import glob`'
    suffix = os.path.splitext(path)[1]
    return did_you_mean(path, (other for other in _files() if other.endswith(suffix)))


def _files() -> Iterator[str]:
    """Paths of the project's files, as `setup.py` would write them."""
    for path in files_below(".", ("",), skipped=MADE_FOLDERS, most=_MOST_FILES):
        yield os.path.relpath(path).replace(os.sep, "/")


def files_that_define(name: str, sources: Iterable[str]) -> list[str]:
    """Files of the project beside its sources, and no headers, in which a function seems to be defined."""
    compiled = {os.path.normpath(source) for source in sources}
    pattern = re.compile(rf"\b{re.escape(name)}\s*\([^;{{}}]*\)\s*(?:const\s*)?(?:noexcept\s*)?\{{")
    defining = []
    for path in _files():
        is_source = path.endswith(CPP_SUFFIXES) and not path.endswith(CPP_HEADERS)
        if is_source and os.path.normpath(path) not in compiled:
            try:
                text = SourceFile.read_plain(path).text
            except Fault:
                continue
            if pattern.search(text):
                defining.append(path)
    return defining


def check_sources(libraries: Iterable[OperatorLibrary], files: Iterable[SourceFile], sink: Diagnostics) -> None:
    """Report what sources register a second time, and modules of Python, which shared objects of operators are not.

    What depends on conditions of the preprocessor, and what macros write, is left to the linker and to PyTorch.
    """
    operators = {
        f"{library.library.namespace}::{function.name.text}"
        for library in libraries
        if library.library.defines_operators
        for function in library.catalog.functions
    }
    for file in files:
        if not _REGISTERING.search(file.text) and "PYBIND11_MODULE" not in file.text:
            continue
        try:
            tokens = parse_cpp(file.path, file.text).tokens
        except Fault:
            continue
        own = SourceFile(file.path, file.text.replace("\r\n", "\n"))
        for name, token in _registrations(tokens):
            if name in operators and not token.conditions:
                message = f"`{name}` is registered here, and by generated code"
                help = "delete this `def`; a kernel goes into `dispatch` of its entry"
                sink.error(library_codes.REGISTERED_TWICE, message, own.span(token.start, token.end), help=help)
        for token in tokens:
            if token.text == "PYBIND11_MODULE" and not token.conditions:
                message = "a shared object of operators is no module of Python"
                help = "delete it: the package has a function for each operator"
                sink.error(library_codes.REGISTERED_TWICE, message, own.span(token.start, token.end), help=help)


def _registrations(tokens: Sequence[Token]) -> Iterator[tuple[str, Token]]:
    """Operators that blocks of `TORCH_LIBRARY` define with texts, with their namespaces, and the texts."""
    for place, token in enumerate(tokens[:-2]):
        if not _REGISTERING.fullmatch(token.text) or tokens[place + 1].text != "(":
            continue
        namespace, opening = tokens[place + 2].text, closing_index(tokens, place + 1) + 1
        if opening >= len(tokens) or tokens[opening].text != "{":
            continue
        body = tokens[opening : closing_index(tokens, opening)]
        for before, bracket, text in zip(body, body[1:], body[2:], strict=False):
            if before.text == "def" and bracket.text == "(" and text.text.startswith('"'):
                name = text.text.strip('"').partition("(")[0].strip()
                yield name if "::" in name else f"{namespace}::{name}", text
