"""How builds with setuptools end: mistakes in files with their places, and the first error of a compiler."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final, Protocol

from setuptools.errors import BaseError, CCompilerError, CompileError

from opwright.libraries import library_codes
from opwright.libraries.extension.build_mistakes import files_that_define
from opwright.libraries.extension.generated import CodeOrigin, GeneratedCode, origin_of
from opwright.libraries.extension.toolchain import first_error, is_for_rocm, remembered_output, undefined_function
from opwright.source.diagnostic import Diagnostics, Fault, FaultsFound
from opwright.source.render import render_report
from opwright.source.text import SourceFile

#: The file, the line and the column of an error, as GCC, Clang, NVCC and MSVC write them.
_PLACE: Final = re.compile(r"(\S.*?)(?::|\()(\d+)[:,)](\d+)?.*?\berror\b(?: \w+)?: ([^\n]*)")


class BuiltExtension(Protocol):
    """What errors are traced through: an `OperatorExtension`."""

    yaml: Sequence[str]
    backends: Sequence[str]
    plugins: Sequence[str]
    sources: list[str]
    code: GeneratedCode | None


@contextmanager
def reported_mistakes(message: str) -> Iterator[Diagnostics]:
    """End the build with a message and the mistakes that were found meanwhile, without a traceback."""
    sink = Diagnostics()
    try:
        yield sink
    except (Fault, FaultsFound) as error:
        sink.take(error)
        raise CompileError(f"{message}\n\n{report(sink)}") from None


@contextmanager
def first_error_alone(operators: Sequence[BuiltExtension]) -> Iterator[None]:
    """End a build with the first error of the compiler, not with a traceback of those that called it."""
    pieces: list[bytes] = []
    try:
        with remembered_output() as pieces:
            yield
    except (BaseError, CCompilerError, RuntimeError):
        first = first_error(b"".join(pieces).decode(errors="replace"))
        if first is None:
            raise
        raise CompileError(_explained_error(first, operators)) from None


def _explained_error(error: str, operators: Sequence[BuiltExtension]) -> str:
    """The first error of the compiler, after what was found in the files that it comes from, and its place in them."""
    place = _PLACE.match(error)
    origin: CodeOrigin | None = None
    sink = Diagnostics()
    if place is not None:
        origins = (_origin_of_error(place, extension) for extension in operators)
        origin = next((origin for origin in origins if origin is not None), None)
        if origin is not None:
            sink.extend(origin.findings)
            if origin.formula is not None and not sink.has_errors:
                sink.error(library_codes.COMPILER_ERROR, place[4], origin.formula)
    where = f", in code that is generated from {origin.entry}" if origin is not None and origin.entry else ""
    findings = f"{report(sink)}\n" if sink.has_errors else ""
    name = undefined_function(error)
    sources = [source for extension in operators for source in extension.sources]
    others = [f"`{path}`" for path in files_that_define(name, sources)] if name else []
    advice = f"\n{', '.join(others)} has one, and is not among the sources." if others else ""
    return f"{findings}the first error of the C++ compiler{where}:\n\n{error}{advice}"


def _origin_of_error(place: re.Match[str], extension: BuiltExtension) -> CodeOrigin | None:
    """What an error of the compiler comes from; None if its place is not in generated code of library files."""
    code, path = extension.code, os.path.realpath(place[1])
    if code is None or extension.backends or path not in code.sources:
        return None
    files = [SourceFile.read(file) for file in extension.yaml]
    where = (path, int(place[2]), int(place[3] or 1))
    return origin_of(files, os.path.dirname(code.include), where, extension.plugins, rocm=is_for_rocm())


def report(sink: Diagnostics) -> str:
    """The text of what was found, for a log."""
    return render_report(sink.sorted(), color=False)
