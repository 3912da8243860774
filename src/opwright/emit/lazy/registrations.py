"""`Register{Key}.cpp` of lazy tensors: the wrappers of kernels, and a function that registers them.

Loading the library registers nothing, because another backend may use the same dispatch key: the one that is used
calls its function.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

from opwright.emit.aten.backend import Backend
from opwright.emit.aten.native_aot import NATIVE_AOT_KERNELS
from opwright.emit.aten.register.helpers import registration_headers, registration_helpers
from opwright.emit.aten.register.registration import registration, wrapper_definition, wrapper_of
from opwright.emit.backend.section_file import SectionFile
from opwright.emit.backend.sections import RegisteredUnit, registered_units
from opwright.emit.emitter import AnyEmitter, Emitter, FragmentContext, Job, OneFile, Slots, per_job
from opwright.emit.lazy.units import base_name
from opwright.model.lazy_backend import LazyBackend
from opwright.syntax.cpp import include_line, quoted_include_line

#: The slots of the template of a unit that stay slots in the template of a file, and those without text.
_KEPT_SLOTS: Final = ("dispatch_anonymous_definitions", "deferred_dispatch_registrations", "dispatch_namespace")
_UNUSED_SLOTS: Final = ("static_init_dispatch_registrations", "dispatch_namespaced_definitions")
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
    # Templates of older releases have the slot of the helpers for each unit.
    open_slots = (*_KEPT_SLOTS, "dispatch_helpers")
    slots = {slot: f"${{{slot}}}" for slot in open_slots} | dict.fromkeys(_UNUSED_SLOTS, "")
    text = job.registration_text({"ns_prologue": "namespace at {", "ns_epilogue": "} // namespace at", **slots})
    return {**{slot: f"${{{slot}}}" for slot in _FILE_SLOTS}, "dispatch_definitions": text}


def registration_sources(backend: LazyBackend, family: str) -> list[AnyEmitter]:
    """The emitters of the sources of each section."""
    files = [SectionFile(backend.backend, section) for section in backend.backend.sections if section.entries]
    return [
        Emitter(
            name=f"register_lazy_{file.name.lower()}_source",
            family=family,
            template="lazy/RegisterDispatchKey.cpp",
            folder=family,
            units=partial(_units, file),
            fragment=partial(_fragment, file.wrapping),
            reads=(NATIVE_AOT_KERNELS,),
            file_slots=partial(_file_slots, file),
            layout=OneFile(f"Register{file.name}.cpp"),
        )
        for file in files
    ]


def _units(file: SectionFile, job: Job) -> Sequence[RegisteredUnit]:
    return _ordered_units(job, file)


@per_job
def _ordered_units(job: Job, file: SectionFile) -> Sequence[RegisteredUnit]:
    """The units of a section in the order of the files, which its slots and its fragments ask for."""
    return sorted(registered_units(file, job), key=lambda unit: base_name(unit.wrapped[0]))


def _fragment(wrapping: Backend, unit: RegisteredUnit, context: FragmentContext) -> Slots:
    group, kinds = unit.wrapped
    wrappers = [wrapper_of(function, kind, wrapping) for function, kind in kinds]
    definitions = [wrapper_definition(wrapper, group, wrapping, context) for wrapper in wrappers]
    return {"dispatch_anonymous_definitions": definitions}


def _file_slots(file: SectionFile, job: Job) -> Slots:
    names, per_operator_headers = job.options.lazy, job.options.per_operator_headers
    header = f"{job.options.backend_folder}{file.backend.display_name}NativeFunctions.h"
    wrapping = file.wrapping
    return {
        "extra_cuda_headers": "",
        "external_backend_headers": include_line(header) if names.in_tree else quoted_include_line(header),
        "dispatch_headers": registration_headers(
            wrapping, per_operator_headers=per_operator_headers, rocm=False, rules=job.rules
        ),
        "ops_headers": "" if per_operator_headers else "#include <ATen/Functions.h>",
        "dispatch_helpers": registration_helpers(wrapping, job.rules),
        "deferred_dispatch_registrations": _registration_function(file, job),
        "dispatch_namespace": file.name.lower(),
    }


def _registration_function(file: SectionFile, job: Job) -> list[str]:
    """The function that registers all wrappers of a section."""
    head = f"TORCH_API void Register{job.options.lazy.backend_name}{file.name}NativeFunctions()"
    wrappers = [
        wrapper_of(function, kind, file.wrapping) for unit in _units(file, job) for function, kind in unit.wrapped[1]
    ]
    return [
        f"{head};",
        f"{head} {{",
        f"    static auto m = MAKE_TORCH_LIBRARY_IMPL(aten, {file.wrapping.key.name});",
        *[f"    {registration(wrapper)}".replace("\n", "\n    ") for wrapper in wrappers],
        "}",
    ]
