"""The sources of a library: one file, or several for a library with many operators."""

from __future__ import annotations

from typing import Final

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
from opwright.emit.library.parts import LibraryPart, library_parts
from opwright.emit.library.section import MakeSection, Section

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
    """The sections of the source file of a part."""
    return [make(part, context) for make in _SECTIONS]


def _source(part: LibraryPart, context: FragmentContext) -> Slots:
    sections = source_sections(part, context)
    headers = dict.fromkeys([header for section in sections if section.text for header in section.includes])
    return {
        "namespace": part.library.namespace,
        "ops_header": f"{part.path}/ops.h",
        "kernel_headers": [f"#include <{header}>" for header in (f"{part.path}/kernels.h", *part.includes)],
        "includes": [f"#include <{header}>" for header in headers],
        "sections": [section.text for section in sections if section.text],
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
