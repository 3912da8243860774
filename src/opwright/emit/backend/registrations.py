"""`Register{Key}.cpp` of external backends: the wrappers of a section's kernels, and their registrations."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Final

from opwright.emit.aten.backend import KernelWrapper, WrapperKind
from opwright.emit.aten.native_aot import NATIVE_AOT_KERNELS
from opwright.emit.aten.register.helpers import registration_headers, registration_helpers
from opwright.emit.aten.register.hooks import operator_class_definition
from opwright.emit.aten.register.registration import dispatch_key_definitions, wrapper_definition, wrapper_of
from opwright.emit.aten.units import kernel_argument
from opwright.emit.backend.autocast import autocast_registrations, has_policies
from opwright.emit.backend.dispatch_functions import has_dispatch_functions
from opwright.emit.backend.fallbacks import (
    FALLBACK_HEADER,
    calls_fallback,
    fallback_function,
    fallback_registrations,
)
from opwright.emit.backend.kernel_checks import checks
from opwright.emit.backend.meta_overrides import meta_definitions, meta_helpers, meta_registrations
from opwright.emit.backend.sections import RegisteredUnit, SectionFile, registered_units, section_files
from opwright.emit.emitter import AnyEmitter, Emitter, FragmentContext, Job, OneFile, Slots
from opwright.emit.library.autocast import AUTOCAST_HEADER
from opwright.emit.registrations import Registration, print_registrations
from opwright.model.library import PYTORCH

#: The template of a source file, which this module makes from two of PyTorch's (see `template_slots`).
SOURCE_TEMPLATE: Final = "backend/RegisterDispatchKey.cpp"

#: The slots of the template of a unit that stay slots in the template of a file.
_KEPT_SLOTS: Final = ("dispatch_anonymous_definitions", "static_init_dispatch_registrations", "dispatch_namespace")
#: The slots without text, the second one unless a backend has functions that call kernels without the dispatcher.
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
_HOOKS_HEADER: Final = "opwright/hooks.h"


def template_slots(job: Job) -> Slots:
    """What PyTorch's template of a file is filled with: the one of a unit, for all units of the file together."""
    open_slots = [*_KEPT_SLOTS, *_function_slots(job)]
    slots = dict.fromkeys(_UNUSED_SLOTS, "") | {slot: f"${{{slot}}}" for slot in open_slots}
    text = job.registration_text({"ns_prologue": "namespace at {", "ns_epilogue": "} // namespace at", **slots})
    return {**{slot: f"${{{slot}}}" for slot in _FILE_SLOTS}, "dispatch_definitions": text}


def _function_slots(job: Job) -> tuple[str, ...]:
    """The slot of functions that call kernels without the dispatcher, if the sources of a run have any."""
    return _UNUSED_SLOTS[1:] if any(backend.options.dispatch_headers for backend in job.backends) else ()


def _fragment(file: SectionFile, unit: RegisteredUnit, context: FragmentContext) -> Slots:
    wrapping = file.wrapping
    group, kinds = unit.wrapped
    wrappers = [wrapper_of(function, kind, wrapping) for function, kind in kinds]
    definitions = [wrapper_definition(wrapper, group, wrapping, context) for wrapper in wrappers]
    definitions += meta_definitions(group, wrapping, context)
    if not has_dispatch_functions(file):
        return {"dispatch_anonymous_definitions": definitions}
    functions = [
        dispatch_key_definitions(wrapper, wrapping) for wrapper in wrappers if wrapper.function.library is PYTORCH
    ]
    return {"dispatch_anonymous_definitions": definitions, "dispatch_namespaced_definitions": functions}


def _wrappers(file: SectionFile, job: Job) -> Iterator[KernelWrapper]:
    for unit in registered_units(file, job):
        for function, kind in unit.wrapped[1]:
            yield wrapper_of(function, kind, file.wrapping)


def registrations(file: SectionFile, job: Job) -> Iterator[Registration]:
    """What the file of a section registers: its wrappers, policies of autocast, and fallbacks."""
    macro = file.backend.options.register_macro
    for wrapper in _wrappers(file, job):
        function = wrapper.function
        yield Registration(
            function.namespace,
            file.wrapping.key.name,
            function.name.text,
            wrapper.name if macro else kernel_argument(wrapper.name, function.library),
            file.wrapping.entry_options(function).register_if,
            macro,
            breaks_line=wrapper.kind is not WrapperKind.structured,
        )
    yield from meta_registrations(file)
    yield from autocast_registrations(file, job)
    yield from fallback_registrations(file)


def _includes(file: SectionFile, job: Job) -> list[str]:
    """The header of the kernels, those that the file of the backend names, and those that its options need."""
    options = file.backend.options
    headers = [*options.includes]
    if options.guard is not None:
        headers.append(options.guard.header)
    if calls_fallback(file):
        headers.append(FALLBACK_HEADER)
    if has_policies(file):
        headers.append(AUTOCAST_HEADER)
    if any("result" in hook.passes or "{result}" in hook.text for hook in options.hooks):
        headers.append(_HOOKS_HEADER)
    own = f"{job.options.backend_folder}{file.backend.display_name}NativeFunctions.h"
    return [f'#include "{own}"', *[f"#include <{header}>" for header in dict.fromkeys(headers) if header]]


def _operator_classes(file: SectionFile) -> list[str]:
    """The classes of operators that PyTorch does not have."""
    definitions = [operator_class_definition(entry.function) for entry in file.section.entries]
    return [definition for definition in definitions if definition]


def _file_slots(file: SectionFile, job: Job) -> Slots:
    helpers = [*registration_helpers(file.wrapping), *meta_helpers(file)]
    if calls_fallback(file):
        helpers.append(fallback_function(file))
    return {
        "extra_cuda_headers": "",
        "external_backend_headers": _includes(file, job),
        "dispatch_headers": registration_headers(file.wrapping, per_operator_headers=False, rocm=False),
        "ops_headers": [
            "#include <ATen/Functions.h>",
            *_operator_classes(file),
            *checks(file.backend, file.section),
        ],
        "dispatch_helpers": helpers,
        "dispatch_anonymous_definitions": [],
        **{slot: [] for slot in _function_slots(job)},
        "static_init_dispatch_registrations": print_registrations(registrations(file, job)),
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
            fragment=partial(_fragment, file),
            reads=(NATIVE_AOT_KERNELS,),
            file_slots=partial(_file_slots, file),
            layout=OneFile(f"Register{file.name}.cpp"),
        )
        for file in section_files(job)
    ]
