"""Kernels of a library beside the functions that its C++ sources define, before a compiler sees either.

Sources are read without the flags of a compiler, so this reports only what is certain: a kernel whose name is defined
with other types, if no source may define or declare it with the wanted ones. What a reader without a preprocessor
cannot tell (unknown names of types, macros that may open namespaces, conditions, templates) counts as a match.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from opwright.cpp.signature import Signature
from opwright.dialects.nearest import word_span
from opwright.emit.aten.backend import kernel_signature
from opwright.libraries import library_codes
from opwright.libraries import stable_convention as stable
from opwright.libraries.emit.generated_kernels import has_generated_kernel
from opwright.libraries.emit.python.overloads import calls_another_form
from opwright.libraries.entry_fields import library_fields
from opwright.libraries.frameworks import view_convention
from opwright.libraries.kernels import condition_of, written_kernels
from opwright.libraries.operator_library import OperatorLibrary
from opwright.model.native_function import Kernel, NativeFunction
from opwright.source.diagnostic import Diagnostics, Fault, Label
from opwright.source.lazy import lazy_pattern
from opwright.source.records import NamedTuple
from opwright.source.span import Span
from opwright.source.text import SourceFile
from opwright.syntax.cpp_functions import CppFunction, Statement, function_of, statements
from opwright.syntax.cpp_source import CppSource, included_headers, parse_cpp
from opwright.syntax.cpp_tokens import closing_index
from opwright.syntax.cpp_types import are_different, read_type

#: A word that may be a macro, but for those of PyTorch that export a function.
_MACRO: Final = lazy_pattern(r"(?!(?:TORCH|C10|AT)_\w*(?:API|EXPORT)$)[A-Z_][A-Z0-9_]+")


class _Wanted(NamedTuple):
    """A kernel with its operator, and the signature that generated code calls it with."""

    function: NativeFunction
    kernel: Kernel
    signature: Signature

    @property
    def name(self) -> str:
        """Name with its namespace."""
        kernel = self.kernel
        return f"{kernel.namespace}::{kernel.name}" if kernel.namespace else kernel.name


class _Defined(NamedTuple):
    """A function of a source: its place up to the body, which it has if it is defined there."""

    function: CppFunction
    place: Span
    has_body: bool


def check_kernel_types(libraries: Iterable[OperatorLibrary], files: Sequence[SourceFile], sink: Diagnostics) -> None:
    """Report kernels that the sources of a library certainly define with other types only."""
    for wanted, definition in _wrong_kernels(libraries, files):
        at = _kernel_span(wanted.function, wanted.kernel.name)
        also = (Label(definition.place, f"is defined as {_defined_type(definition)}", primary=False),)
        help = "correct the schema, or the function"
        label = f"the kernel of `{wanted.function.name}`"
        sink.error(library_codes.KERNEL_TYPE, _wanted_type(wanted), at, label=label, help=help, also=also)


def wrong_kernels(libraries: Iterable[OperatorLibrary], files: Sequence[SourceFile]) -> Iterator[tuple[str, str, str]]:
    """The kernels that sources certainly define with other types: namespace, operator, and what differs."""
    for wanted, definition in _wrong_kernels(libraries, files):
        what = f"{_wanted_type(wanted)}, and is {_defined_type(definition)}"
        yield wanted.function.library.namespace, wanted.function.name.text, what


def _wrong_kernels(
    libraries: Iterable[OperatorLibrary], files: Sequence[SourceFile]
) -> Iterator[tuple[_Wanted, _Defined]]:
    kernels = [wanted for library in libraries for wanted in _wanted_kernels(library)]
    names = {wanted.kernel.name for wanted in kernels}
    functions, unclear = _functions([file for file in files if any(name in file.text for name in names)], names)
    for wanted in kernels:
        same_name = functions.get(wanted.name, [])
        if wanted.kernel.name in unclear or not all(
            _is_other(definition.function, wanted.signature) for definition in same_name
        ):
            continue
        others = [other.signature for other in kernels if other.name == wanted.name]
        defined = [definition for definition in same_name if definition.has_body]
        # One of several overloads may be the kernel of another operator.
        wrong = [definition for definition in defined if all(_is_other(definition.function, other) for other in others)]
        if wrong:
            yield wanted, wrong[0]


def _wanted_kernels(library: OperatorLibrary) -> Iterator[_Wanted]:
    """Kernels that the author writes as functions with the types that follow from their schemas, in every build."""
    if library.has_own_signatures:
        return
    for function in library.catalog.functions:
        generated = calls_another_form(function) if library.is_stable else has_generated_kernel(function)
        if function.manual_kernel_registration or generated or library_fields(function).condition:
            continue
        for kernel in dict.fromkeys(
            [
                declared_signature
                for chosen in function.kernels.values()
                for declared_signature in written_kernels(chosen)
            ]
        ):
            if not (kernel.structured or condition_of(kernel)):
                declared_signature = (
                    view_convention.signature(function)
                    if library.takes_views
                    else stable.signature(function)
                    if library.is_stable
                    else kernel_signature(function, kernel)
                )
                yield _Wanted(function, kernel, declared_signature)


def _functions(files: Iterable[SourceFile], names: set[str]) -> tuple[dict[str, list[_Defined]], set[str]]:
    """Functions of sources and their headers by name, and the names of which a source may say something else."""
    sources: list[CppSource] = []
    unclear: set[str] = set()
    for file in files:
        try:
            sources.append(parse_cpp(file.path, file.text))
        except Fault:
            unclear |= {name for name in names if name in file.text}
    functions: dict[str, list[_Defined]] = {}
    for source in [*sources, *_headers(sources)]:
        for statement in statements(source):
            words = {token.text for token in statement.head} & names
            function = function_of(statement, source.path) if words else None
            if function is None or not _is_clear(statement, function):
                unclear |= words
            else:
                # A body may be empty.
                has_body = source.text[statement.head[-1].end :].lstrip().startswith("{")
                definition = _Defined(function, _place(source, statement), has_body)
                functions.setdefault(function.name, []).append(definition)
        unclear |= {name for macro in source.macros for name in names if name == macro.name or name in macro.text}
        if _may_open_namespaces(source):
            unclear |= {name for name in names if name in source.text}
    return functions, unclear


def _headers(sources: Sequence[CppSource]) -> list[CppSource]:
    try:
        return [*included_headers(sources)]
    except Fault:
        return []


def _is_clear(statement: Statement, function: CppFunction) -> bool:
    """Whether a statement is a function for the linker, in every build and without a macro in its types."""
    end = next(index for index, token in enumerate(statement.head) if token.text == "(")
    head = statement.head[: closing_index(statement.head, end)]
    is_plain = not any(token.conditions or _MACRO.fullmatch(token.text) for token in head)
    return is_plain and not function.is_hidden and "..." not in " ".join(function.parameters)


def _may_open_namespaces(source: CppSource) -> bool:
    """Whether a macro stands where a statement begins, which may open or close a namespace.

    A macro with arguments is one that does neither if nothing follows them before a body or a semicolon.
    """
    for statement in statements(source):
        head = statement.head
        if head and _MACRO.fullmatch(head[0].text):
            end = closing_index(head, 1) if len(head) > 1 and head[1].text == "(" else -1
            if end != len(head) - 1:
                return True
    return False


def _place(source: CppSource, statement: Statement) -> Span:
    opening = next(index for index, token in enumerate(statement.head) if token.text == "(")
    last = statement.head[min(closing_index(statement.head, opening), len(statement.head) - 1)]
    return SourceFile(source.path, source.text).span(statement.head[0].start, last.end)


def _is_other(function: CppFunction, signature: Signature) -> bool:
    """Whether a function has certainly other types than a signature."""
    parameters = [read_type(text) for text in function.parameters if text != "void"]
    wanted = [read_type(binding.type.text) for binding in signature.bindings]
    if len(parameters) != len(wanted):
        return None not in parameters
    if any(map(are_different, parameters, wanted)):
        return True
    return are_different(read_type(function.result), read_type(signature.returns.text))


def _wanted_type(wanted: _Wanted) -> str:
    return f"`{wanted.name}` is wanted as `{wanted.signature.type}`"


def _defined_type(definition: _Defined) -> str:
    function = definition.function
    return f"`{function.result} ({', '.join(function.parameters)})`"


def _kernel_span(function: NativeFunction, name: str) -> Span:
    """Span of a kernel in the `dispatch` of an entry; that of the operator if the entry names none."""
    entry = function.entry
    match = re.compile(rf"\bdispatch\b[\s\S]*?(?<!\w)({re.escape(name)})(?!\w)").search(entry.text)
    if match is None:
        return word_span(function, function.name.text)
    return Span(entry.file, entry.start + match.start(1), entry.start + match.end(1))
