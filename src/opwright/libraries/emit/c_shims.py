"""C shims of a library's operators, for models that AOTInductor compiles.

Without a shim, a compiled model finds an operator by its name when it runs. With one, it calls a C function, which
AOTInductor names after the device and the operator alone: neither the namespace nor the overload is part of the name.
So one overload of an operator has a shim, and none has one whose name is that of a shim of PyTorch's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from json import dumps
from typing import Final

from opwright.convention.c_shim import NoCForm, ShimFunction, passed_arguments, shim_function
from opwright.cpp.text import guard
from opwright.emit.aten.c_shim import shim_declaration, shim_definition
from opwright.emit.emitter import AnyEmitter, Emitter, FilePerUnit, FragmentContext, Job, Slots, per_job
from opwright.libraries.entry_fields import library_fields
from opwright.libraries.operator_library import OperatorLibrary, RunLibraries
from opwright.model.library import Library
from opwright.model.native_function import NativeFunction
from opwright.release.rules import Rules
from opwright.release.tables import ShimOperator, ShimTables
from opwright.schema.base_types import forms_of
from opwright.schema.function import SchemaKind
from opwright.source.records import NamedTuple


class LibraryShims(NamedTuple):
    """Overloads of a library that have a shim for each of the devices."""

    library: Library
    package: str
    devices: tuple[str, ...]
    functions: tuple[NativeFunction, ...]

    def shims(self, function: NativeFunction, rules: Rules) -> list[ShimFunction]:
        """Shims of an overload."""
        called = f"{self.library.operators}::{function.name.unambiguous}::call"
        names = [f"aoti_torch_{device}_{function.name.name}" for device in self.devices]
        passed = passed_arguments(function.schema, resolves=rules.shims_resolve_dispatch_flags)
        return [shim_function(name, called, function.schema)._replace(arguments=passed) for name in names]


@per_job
def library_shims(job: Job) -> Sequence[LibraryShims]:
    """Shims of the libraries that ask for them."""
    return [
        LibraryShims(
            library.library, library.python_package, library.c_shims, functions_with_shims(library, job.shim_tables)
        )
        for library in job.of(RunLibraries).libraries
        if library.c_shims
    ]


def functions_with_shims(library: OperatorLibrary, tables: ShimTables) -> tuple[NativeFunction, ...]:
    """The overloads of a library that asks for shims which have one, given the tables of PyTorch's own."""
    taken = frozenset(_names(tables.device)) | frozenset(_names(tables.aten))
    chosen: dict[str, NativeFunction] = {}
    for function in sorted(library.catalog.functions, key=lambda function: bool(function.name.overload)):
        if _can_have(function) and function.name.name not in taken:
            chosen.setdefault(function.name.name, function)
    shimmed = set(chosen.values())
    return tuple([function for function in library.catalog.functions if function in shimmed])


def _names(table: Mapping[str, ShimOperator]) -> Iterator[str]:
    """What the names of PyTorch's shims end in."""
    for name, row in table.items():
        operator = name.partition(".")[2].removesuffix(".default").replace(".", "_")
        yield from (operator, *[f"{operator}_{version.name}" for version in row.versions])


def _can_have(function: NativeFunction) -> bool:
    """Whether an overload can have a shim: it returns new tensors, writes nothing, and C has all its types."""
    schema = function.schema
    if schema.kind is not SchemaKind.functional or schema.arguments.writes or not schema.returns:
        return False
    return not any(result.annotation is not None for result in schema.returns) and not shim_refusal(function)


#: The types of which the C type holds only some values, with that type.
_INEXACT: Final = forms_of(lambda row: row.c_shim.c if row.c_shim is not None and not row.c_shim.is_exact else None)


def shim_refusal(function: NativeFunction) -> str:
    """Which argument or return has a type that keeps an operator from having a shim; empty if none does."""
    for result in function.schema.returns:
        if result.type.text != "Tensor":
            return f"return `{result.text}` is not a tensor"
    for argument in function.arguments.all:
        # Neither is a pointer to strings, nor do PyTorch's helpers make lists of generators, optional lists of tensors
        # or of `bool`, or lists of optional values that are no tensors.
        type = argument.type.text
        optional_list = type.startswith(("Tensor[", "bool[")) and type.endswith("]?")
        if (
            type.startswith(("str[", "str?[", "Generator["))
            or optional_list
            or ("?[" in type and type[:8] != "Tensor?[")
        ):
            return f"argument `{argument.name}` of type `{type}` has no form in C"
        if argument.type.innermost.text in _INEXACT:
            c = _INEXACT[argument.type.innermost.text]
            return f"argument `{argument.name}` of type `{type}` would be a `{c}`, which cannot hold all its values"
    try:
        shim_function("", "", function.schema)
    except NoCForm as refusal:
        return f"{refusal.what} of type `{refusal.type}` has no form in C"
    return ""


def _header(shims: LibraryShims, context: FragmentContext) -> Slots:
    return {
        "namespace": shims.library.namespace,
        "declarations": _guarded_texts(shims, shim_declaration, context.rules),
    }


def _source(shims: LibraryShims, context: FragmentContext) -> Slots:
    return {
        "namespace": shims.library.namespace,
        "folder": shims.library.headers,
        "definitions": _guarded_texts(shims, shim_definition, context.rules),
    }


def _guarded_texts(shims: LibraryShims, text_of: Callable[[ShimFunction], str], rules: Rules) -> list[str]:
    """Text of each shim, under the condition of its operator."""
    return [
        guard(library_fields(function).condition, text_of(shim))
        for function in shims.functions
        for shim in shims.shims(function, rules)
    ]


def _settings(shims: LibraryShims, context: FragmentContext) -> Slots:
    """The Python module with the setting of AOTInductor."""
    rows = []
    for function in shims.functions:
        overload = dumps(function.name.overload or "default")
        heads = [f"    {dumps(shim.head)}," for shim in shims.shims(function, context.rules)]
        rows.append("\n".join([f"({dumps(function.name.name)}, {overload}): [", *heads, "],"]))
    return {"namespace": shims.library.namespace, "declarations": rows}


def emitters(job: Job) -> list[AnyEmitter]:
    """Emitters of header, source and setting."""
    return [
        Emitter(
            name="library_c_shim_headers",
            family="library",
            template="library/c_shim.h",
            folder="include",
            units=library_shims,
            fragment=_header,
            layout=FilePerUnit(lambda shims: f"{shims.library.headers}/c_shim.h"),
        ),
        Emitter(
            name="library_c_shim_sources",
            family="library",
            template="library/c_shim.cpp",
            folder="source",
            units=library_shims,
            fragment=_source,
            layout=FilePerUnit(lambda shims: f"{shims.library.headers}/c_shim.cpp"),
        ),
        Emitter(
            name="library_c_shim_settings",
            family="library",
            template="library/_aoti.py.in",
            folder="python",
            units=library_shims,
            fragment=_settings,
            layout=FilePerUnit(lambda shims: f"{shims.package.replace('.', '/')}/_aoti.py"),
        ),
    ]
