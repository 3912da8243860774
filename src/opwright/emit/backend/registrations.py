"""`Register{Key}.cpp` of external backends: the wrappers of a section's kernels, and their registrations."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Final

from opwright.emit.aten.backend import Backend
from opwright.emit.aten.native_aot import NATIVE_AOT_KERNELS
from opwright.emit.aten.register.helpers import registration_headers, registration_helpers
from opwright.emit.aten.register.registration import registration, wrapper_definition, wrapper_of
from opwright.emit.aten.register.wrapper import KernelWrapper
from opwright.emit.backend.sections import RegisteredUnit, SectionFile, registered_units, section_files
from opwright.emit.emitter import AnyEmitter, Emitter, FragmentContext, Job, OneFile, Slots

#: The template of a source file, which this module makes from two of PyTorch's (see `template_slots`).
SOURCE_TEMPLATE: Final = "backend/RegisterDispatchKey.cpp"

#: The slots of the template of a unit that stay slots in the template of a file, and those without text.
_KEPT_SLOTS: Final = ("dispatch_anonymous_definitions", "static_init_dispatch_registrations", "dispatch_namespace")
_UNUSED_SLOTS: Final = ("deferred_dispatch_registrations", "dispatch_namespaced_definitions")
#: The slots that the template of a file has of its own.
_FILE_SLOTS: Final = (
    "generated_comment",
    "extra_cuda_headers",
    "external_backend_headers",
    "dispatch_headers",
    "ops_headers",
    "dispatch_helpers",
)


def template_slots(job: Job) -> Slots:
    """What PyTorch's template of a file is filled with: the one of a unit, for all units of the file together."""
    slots = {slot: f"${{{slot}}}" for slot in _KEPT_SLOTS} | dict.fromkeys(_UNUSED_SLOTS, "")
    text = job.registration_text({"ns_prologue": "namespace at {", "ns_epilogue": "} // namespace at", **slots})
    return {**{slot: f"${{{slot}}}" for slot in _FILE_SLOTS}, "dispatch_definitions": text}


def _fragment(wrapping: Backend, unit: RegisteredUnit, context: FragmentContext) -> Slots:
    group, kinds = unit.wrapped
    definitions = [
        wrapper_definition(wrapper_of(function, kind, wrapping), group, wrapping, context) for function, kind in kinds
    ]
    return {"dispatch_anonymous_definitions": definitions}


def _wrappers(file: SectionFile, job: Job) -> Iterator[KernelWrapper]:
    for unit in registered_units(file, job):
        for function, kind in unit.wrapped[1]:
            yield wrapper_of(function, kind, file.wrapping)


def _file_slots(file: SectionFile, job: Job) -> Slots:
    registrations = [f"    {registration(wrapper)}".replace("\n", "\n    ") for wrapper in _wrappers(file, job)]
    header = f"{job.options.backend_folder}{file.backend.display_name}NativeFunctions.h"
    return {
        "extra_cuda_headers": "",
        "external_backend_headers": f'#include "{header}"',
        "dispatch_headers": registration_headers(file.wrapping, per_operator_headers=False, rocm=False),
        "ops_headers": "#include <ATen/Functions.h>",
        "dispatch_helpers": registration_helpers(file.wrapping),
        "static_init_dispatch_registrations": [
            f"TORCH_LIBRARY_IMPL(aten, {file.wrapping.key.name}, m) {{",
            *registrations,
            "}",
        ],
        "dispatch_namespace": file.name.lower(),
    }


def emitters(job: Job) -> list[AnyEmitter]:
    """The emitters of the sources of each section."""
    return [
        Emitter(
            name=f"register_external_{file.name.lower()}_source",
            family="backend",
            template=SOURCE_TEMPLATE,
            folder="backend",
            units=partial(registered_units, file),
            fragment=partial(_fragment, file.wrapping),
            reads=(NATIVE_AOT_KERNELS,),
            file_slots=partial(_file_slots, file),
            layout=OneFile(f"Register{file.name}.cpp"),
        )
        for file in section_files(job)
    ]
