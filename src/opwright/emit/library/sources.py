"""The sources of a library: one file, or several for a library with many operators."""

from __future__ import annotations

from typing import Final

from opwright.cpp.translation import Untranslatable
from opwright.dialects.nearest import schema_span
from opwright.emit.aten.native_aot import NATIVE_AOT_KERNELS
from opwright.emit.aten.static_dispatch import STATIC_BACKENDS
from opwright.emit.emitter import AnyEmitter, Emitter, FilePerUnit, FragmentContext, Job, Slots
from opwright.emit.library import (
    autocast,
    autograd,
    backend_choice,
    batching,
    functionalization,
    generated_kernels,
    kernel_checks,
    kernels,
    meta_kernels,
    schemas,
)
from opwright.emit.library.parts import LibraryPart, library_parts, parts_by_root
from opwright.emit.library.section import MakeSection, Section
from opwright.source.codes import NO_CONVERSION
from opwright.source.diagnostic import Diagnostics, Fault, FaultsFound
from opwright.syntax.cpp import include_line

#: The sections of a source file, in their order.
_SECTIONS: Final[tuple[MakeSection, ...]] = (
    schemas.section,
    generated_kernels.section,
    kernel_checks.section,
    kernels.section,
    meta_kernels.section,
    backend_choice.section,
    batching.section,
    functionalization.section,
    autograd.section,
    autocast.section,
)


def source_sections(part: LibraryPart, context: FragmentContext) -> list[Section]:
    """The sections of the source file of a part. Raises FaultsFound with a fault of each operation that has none."""
    try:
        return [make(part, context) for make in _SECTIONS]
    except (Fault, FaultsFound, Untranslatable):
        sink = Diagnostics()
        for small_part in parts_by_root(part):
            _report_part(small_part, context, sink)
        sink.raise_if_errors()
        raise


def _report_part(part: LibraryPart, context: FragmentContext, sink: Diagnostics) -> None:
    """Report what keeps a part with one operator and its forms from having its sections."""
    try:
        for make in _SECTIONS:
            make(part, context)
    except (Fault, FaultsFound) as raised:
        sink.take(raised)
    except Untranslatable:
        function = part.functions[0]
        message = f"generated code cannot pass on the arguments of `{function.name}`"
        help = "choose other types, or give the operator a kernel for `CompositeImplicitAutograd`"
        sink.error(NO_CONVERSION, message, schema_span(function), help=help)


def _source(part: LibraryPart, context: FragmentContext) -> Slots:
    sections = source_sections(part, context)
    headers = dict.fromkeys([header for section in sections if section.text for header in section.includes])
    texts = [section.text for section in sections if section.text]
    return {
        "namespace": part.library.namespace,
        "ops_header": f"{part.path}/ops.h",
        "kernel_headers": list(map(include_line, (f"{part.path}/kernels.h", *part.includes))),
        "includes": list(map(include_line, headers)),
        "sections": [f"#if {part.condition}", *texts, "#endif"] if part.condition else texts,
    }


def emitters(job: Job) -> list[AnyEmitter]:
    """The emitter of the sources."""
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
