"""Sources of a library: one file, or several for a library with many operators."""

from __future__ import annotations

from typing import Final

from opwright.convention import native
from opwright.cpp.namespaces import enclose
from opwright.cpp.text import include_line
from opwright.cpp.translation import Untranslatable
from opwright.dialects.nearest import schema_span
from opwright.emit.aten import operators
from opwright.emit.aten.backend_select import definition
from opwright.emit.aten.native_aot import NATIVE_AOT_KERNELS
from opwright.emit.aten.schemas import registrations, schema_text
from opwright.emit.aten.static_dispatch import STATIC_BACKENDS
from opwright.emit.emitter import AnyEmitter, Emitter, FilePerUnit, FragmentContext, Job, Slots
from opwright.libraries.emit import (
    autocast,
    autograd,
    batching,
    boxed_calls,
    checks,
    functionalization,
    generated_kernels,
    implementations,
    kernels,
    math_bits,
    meta_kernels,
)
from opwright.libraries.emit.build_namespace import cpp_text, module_text
from opwright.libraries.emit.meta_kernels import has_meta_kernel
from opwright.libraries.emit.parts import (
    LibraryPart,
    MakeSection,
    Section,
    has_own_kernel,
    library_parts,
    made_for_two,
    parts_by_root,
)
from opwright.libraries.emit.requirements import requirements_section
from opwright.libraries.entry_fields import library_fields
from opwright.libraries.library_codes import NO_CONVERSION
from opwright.model.native_function import NativeFunction
from opwright.source.diagnostic import Diagnostics, Fault, FaultsFound


def _operators_section(part: LibraryPart, context: FragmentContext) -> Section:
    """Definitions of the operator classes, and the registration of the schemas with their tags."""
    functions, includes = part.functions, ["ATen/core/dispatch/Dispatcher.h"]
    boxed = {function for function in functions if boxed_calls.is_boxed(function)}
    if boxed:
        includes.append(boxed_calls.BOXED_CALL_HEADER)
    members = "\n".join(
        [
            boxed_calls.definition(function) if function in boxed else operators.definition(function, context)
            for function in functions
        ]
    )
    classes = f"{enclose(part.library.operators, members)}\n"
    if not part.library.defines_operators:
        return Section(tuple(includes), classes)
    statements = "".join([f"  {statement}" for statement in registrations(functions, _declared_schema)])
    registered = f"TORCH_LIBRARY_FRAGMENT({part.library.namespace}, m) {{\n{statements}}}\n"
    return Section(tuple(includes), f"{classes}\n{registered}")


def _declared_schema(function: NativeFunction) -> str:
    """The schema of an operator, with what TorchScript assumes of it in place of what the schema says."""
    kind = library_fields(function).alias_analysis.upper()
    schema = schema_text(function)
    return f"torch::schema({schema}, c10::AliasAnalysisKind::{kind})" if kind else schema


_BACKEND_SELECT_HEADERS: Final = ("ATen/core/dispatch/DispatchKeyExtractor.h", "c10/core/TensorOptions.h")


def _backend_select_section(part: LibraryPart, context: FragmentContext) -> Section:
    """Kernels under BackendSelect of factories, whose tensor options choose the backend, and their registration."""
    functions = [function for function in part.functions if _chooses_backend(function)]
    if not functions:
        return Section()
    body = ["namespace {", "using namespace at;", *map(definition, functions), "} // namespace", ""]
    body.append(f"TORCH_LIBRARY_IMPL({part.library.namespace}, BackendSelect, m) {{")
    body += [f'  m.impl("{function.name.text}", &{native.name(function.schema)});' for function in functions]
    return Section(
        _BACKEND_SELECT_HEADERS, enclose(f"{part.library.api}::chosen_backend", "\n".join([*body, "}"])) + "\n"
    )


def _chooses_backend(function: NativeFunction) -> bool:
    """Whether a factory has kernels of its own for devices."""
    if not function.is_factory or function.has_composite_implicit or has_own_kernel(function, "BackendSelect"):
        return False
    return has_meta_kernel(function) or any(key.device is not None for key in function.kernels)


#: The sections of a source file, in their order.
_SECTIONS: Final[tuple[MakeSection, ...]] = (
    _operators_section,
    requirements_section,
    generated_kernels.section,
    checks.section,
    implementations.section,
    kernels.section,
    meta_kernels.section,
    _backend_select_section,
    batching.section,
    functionalization.section,
    autograd.section,
    math_bits.section,
    autocast.section,
)


#: Those of operators that another library defines, which has all others.
_SECTIONS_OF_OTHERS: Final[tuple[MakeSection, ...]] = (
    *(_operators_section, requirements_section, checks.section, kernels.section),
)


def _sections(part: LibraryPart) -> tuple[MakeSection, ...]:
    return _SECTIONS if part.library.defines_operators else _SECTIONS_OF_OTHERS


def source_sections(part: LibraryPart, context: FragmentContext) -> list[Section]:
    """Sections of the source file of a part. Raises FaultsFound with a fault of each operation that has none."""
    try:
        return [make(part, context) for make in _sections(part)]
    except (Fault, FaultsFound, Untranslatable):
        sink = Diagnostics()
        for small_part in parts_by_root(part):
            _report_part(small_part, context, sink)
        sink.raise_if_errors()
        raise


def _report_part(part: LibraryPart, context: FragmentContext, sink: Diagnostics) -> None:
    """Report what keeps a part with one operator and its forms from having its sections."""
    try:
        for make in _sections(part):
            make(part, context)
    except (Fault, FaultsFound) as raised:
        sink.take(raised)
    except Untranslatable:
        function = part.functions[0]
        message = f"generated code cannot pass on the arguments of `{function.name}`"
        help = "choose other types, or give the operator a kernel for `CompositeImplicitAutograd`"
        sink.error(NO_CONVERSION, message, schema_span(function), help=help)


@made_for_two
def _source(part: LibraryPart, context: FragmentContext) -> Slots:
    sections = source_sections(part, context)
    headers = dict.fromkeys([header for section in sections if section.text for header in section.includes])
    texts = [section.text for section in sections if section.text]
    texts = [f"#if {part.condition}", *texts, "#endif"] if part.condition else texts
    return {
        "namespace": part.library.namespace,
        "ops_header": f"{part.path}/ops.h",
        "kernel_headers": list(map(include_line, (f"{part.path}/kernels.h", *part.includes))),
        "includes": list(map(include_line, headers)),
        "sections": [*map(cpp_text, texts), *(() if part.number else module_text(part.library.namespace))],
    }


def emitters(job: Job) -> list[AnyEmitter]:
    """Emitter of the sources."""
    return [
        Emitter(
            name="library_sources",
            family="library",
            template="library/register.cpp",
            folder="source",
            units=library_parts,
            fragment=_source,
            reads=(NATIVE_AOT_KERNELS, STATIC_BACKENDS),
            layout=FilePerUnit(lambda part: f"{part.path}/register_{part.number}.cpp"),
        )
    ]
