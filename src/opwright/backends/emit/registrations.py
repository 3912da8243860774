"""`Register{Key}.cpp` of external backends: the wrappers of a section's kernels, and their registrations.

Shape functions of a backend replace PyTorch's for the Meta key, in every process that loads the backend. Only
functional overloads are replaced.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Final

from opwright.backends.choices import BackendHeaders
from opwright.backends.emit.additions import PluginCalls, wrapper_facts
from opwright.backends.emit.dispatch_functions import has_dispatch_functions
from opwright.backends.emit.fallbacks import (
    autocast_fallthrough,
    autocast_registrations,
    calls_fallback,
    fallback_function,
    fallback_headers,
    fallback_registrations,
)
from opwright.backends.emit.kernel_signatures import checks
from opwright.backends.emit.section_file import SectionFile
from opwright.backends.emit.sections import (
    RegisteredUnit,
    registered_units,
    section_additions,
    section_files,
    section_wrapping,
)
from opwright.backends.extensions import EmitExtensions, Registration, RegistrationChange, WrapperFacts
from opwright.backends.external_backend import RunBackends
from opwright.backends.file_backend import FileBackend
from opwright.backends.hook_statements import hook_headers, operator_class_definition
from opwright.convention import native
from opwright.cpp.text import include_line, quoted_include_line
from opwright.emit.aten.backend import KernelUnit, KernelWrapper, WrapperKind
from opwright.emit.aten.native_aot import NATIVE_AOT_KERNELS
from opwright.emit.aten.register.helpers import (
    create_out_function,
    registration_headers,
    registration_helpers,
)
from opwright.emit.aten.register.registration import dispatch_key_definitions, wrapper_definition, wrapper_of
from opwright.emit.aten.register.structured_kernels import OutputClass, print_class, structured_body, structured_parent
from opwright.emit.aten.units import kernel_argument
from opwright.emit.autocast import AUTOCAST_HEADER
from opwright.emit.emitter import AnyEmitter, Emitter, FragmentContext, Job, OneFile, Slots, per_job
from opwright.model.dispatch_key import META, Allocation
from opwright.model.native_function import NativeFunction, NativeFunctionsGroup
from opwright.release.rules import Rules
from opwright.schema.function import SchemaKind
from opwright.source.diagnostic import Diagnostic

#: The template of a source file, which this module makes from two of PyTorch's (see `template_slots`).
SOURCE_TEMPLATE: Final = "backend/RegisterDispatchKey.cpp"

#: The slots that the template of a file has of its own.
_FILE_SLOTS: Final = (
    "generated_comment",
    "extra_cuda_headers",
    "external_backend_headers",
    "dispatch_headers",
    "ops_headers",
    "dispatch_helpers",
)

#: The slot of functions that call kernels without the dispatcher.
_FUNCTIONS: Final = "dispatch_namespaced_definitions"


def template_slots(job: Job) -> Slots:
    """What PyTorch's template of a file is filled with: the one of a unit, for all units of the file together."""
    return slots_of_file(job, "static_init_dispatch_registrations", has_functions=_has_functions(job))


def slots_of_file(job: Job, registrations: str, *, has_functions: bool = False) -> Slots:
    """Slots of a template of a file, which keeps some of the slots of a unit: `registrations` is one of them."""
    unused = ("static_init_dispatch_registrations", "deferred_dispatch_registrations", _FUNCTIONS)
    # Templates of older releases have the slot of the helpers for each unit.
    open_slots = ("dispatch_anonymous_definitions", "dispatch_namespace", "dispatch_helpers", registrations)
    slots = dict.fromkeys(unused, "") | {slot: f"${{{slot}}}" for slot in open_slots}
    if has_functions:
        slots[_FUNCTIONS] = f"${{{_FUNCTIONS}}}"
    text = job.registration_text({"ns_prologue": "namespace at {", "ns_epilogue": "} // namespace at", **slots})
    return {**{slot: f"${{{slot}}}" for slot in _FILE_SLOTS}, "dispatch_definitions": text}


def _has_functions(job: Job) -> bool:
    """Whether the sources of a run have functions that call kernels without the dispatcher."""
    return any(backend.options.dispatch_headers for backend in job.of(RunBackends).backends)


def _fragment(wrapping: FileBackend, has_functions: bool, unit: RegisteredUnit, context: FragmentContext) -> Slots:
    group = unit.wrapped[0]
    wrappers = [wrapper_of(function, kind, wrapping) for function, kind in unit.wrapped[1]]
    definitions = [wrapper_definition(wrapper, group, wrapping, context) for wrapper in wrappers]
    definitions += meta_definitions(group, wrapping, context)
    if not has_functions:
        return {"dispatch_anonymous_definitions": definitions}
    functions = [
        dispatch_key_definitions(wrapper, wrapping) for wrapper in wrappers if wrapper.function.library.in_libtorch
    ]
    return {"dispatch_anonymous_definitions": definitions, _FUNCTIONS: functions}


def registrations(file: SectionFile, job: Job) -> Sequence[Registration]:
    """What the file of a section registers: wrappers, policies of autocast, and fallbacks, as plug-ins change it."""
    return _changed_registrations(job, file)[0]


def registration_faults(file: SectionFile, job: Job) -> Sequence[Diagnostic]:
    """Faults of plug-ins that change registrations."""
    return _changed_registrations(job, file)[1]


@per_job
def _changed_registrations(job: Job, file: SectionFile) -> tuple[Sequence[Registration], Sequence[Diagnostic]]:
    """Registrations of wrappers, and then the others, as plug-ins change them, with the faults of plug-ins."""
    kinds = [kind for unit in registered_units(file, job) for kind in unit.wrapped[1]]
    wrappers = [wrapper_of(function, kind, file.wrapping) for function, kind in kinds]
    given: list[tuple[KernelWrapper | None, Registration]] = [
        (wrapper, _registration(wrapper, file)) for wrapper in wrappers
    ]
    others = [*meta_registrations(file), *autocast_registrations(file, job)]
    others += [*fallback_registrations(file, job.rules), *autocast_fallthrough(file)]
    given += [(None, other) for other in others]
    changes = job.of(EmitExtensions).registration_changes
    if not changes:
        return [registration for _, registration in given], ()
    calls = PluginCalls()
    changed: list[Registration] = []
    for wrapper, registration in given:
        facts = None if wrapper is None else wrapper_facts(wrapper, file, job)
        entry = None if wrapper is None else file.entry_of(wrapper.function)
        results = [registration]
        for extension in changes:
            replaced = calls.result(extension, entry, partial(_change, extension.value, results, facts))
            results = results if replaced is None else replaced
        changed += results
    return changed, calls.faults


def _change(
    change: RegistrationChange, registrations: Sequence[Registration], facts: WrapperFacts | None
) -> list[Registration]:
    results = [change(registration, facts) for registration in registrations]
    # A registration is a tuple itself.
    return [each for result in results for each in ((result,) if isinstance(result, Registration) else result)]


def _registration(wrapper: KernelWrapper, file: SectionFile) -> Registration:
    function, macro = wrapper.function, file.backend.options.register_macro
    return Registration(
        function.namespace,
        file.wrapping.key.name,
        function.name.text,
        wrapper.name if macro else kernel_argument(wrapper.name, function.library),
        file.wrapping.entry_options(function).register_if,
        macro,
        breaks_line=wrapper.kind is not WrapperKind.structured,
    )


def _includes(file: SectionFile, job: Job) -> list[str]:
    """Header of the kernels, those that the file of the backend names, and those that its options need."""
    options = file.backend.options
    headers = [*options.includes]
    if options.guard is not None:
        headers.append(options.guard.header)
    headers += fallback_headers(file)
    if any(entry.options.policy for entry in file.section.entries):
        headers.append(AUTOCAST_HEADER)
    additions = section_additions(job, file).by_function.values()
    hooks = [*options.hooks, *[hook for added in additions for hook in added.hooks]]
    headers += hook_headers(hooks)
    headers += [header for added in additions for header in added.includes]
    headers += [header for registration in registrations(file, job) for header in registration.includes]
    native_header = f"{job.options.of(BackendHeaders).folder}{file.backend.display_name}NativeFunctions.h"
    return [quoted_include_line(native_header), *map(include_line, filter(None, dict.fromkeys(headers)))]


def _file_slots(file: SectionFile, job: Job) -> Slots:
    helpers = [*registration_helpers(file.wrapping, job.rules)]
    if any(_groups(file)):
        helpers.append(_enclose(create_out_function(_META_ALLOCATION)))
    if calls_fallback(file):
        helpers.append(fallback_function(file, job))
    if not job.rules.helpers_keep_blank_lines:
        helpers = without_blank_lines(helpers)
    return {
        "extra_cuda_headers": "",
        "external_backend_headers": _includes(file, job),
        "dispatch_headers": registration_headers(
            file.wrapping, per_operator_headers=False, rocm=False, rules=job.rules
        ),
        "ops_headers": [
            "#include <ATen/Functions.h>",
            # Classes of operators that PyTorch does not have.
            *filter(None, [operator_class_definition(entry.function) for entry in file.section.entries]),
            *checks(file.backend, file.section),
        ],
        "dispatch_helpers": helpers,
        "dispatch_anonymous_definitions": [],
        **({_FUNCTIONS: []} if _has_functions(job) else {}),
        "static_init_dispatch_registrations": print_registrations(
            registrations(file, job), end=end_of_registrations(job.rules)
        ),
        "dispatch_namespace": file.name.lower(),
    }


def emitters(job: Job) -> list[AnyEmitter]:
    """Emitters of the sources of each section."""
    return [
        Emitter(
            name=f"register_external_{file.name.lower()}_source",
            family="backend",
            template=SOURCE_TEMPLATE,
            folder="backend",
            units=partial(registered_units, file),
            fragment=partial(_fragment, section_wrapping(job, file), has_dispatch_functions(file)),
            reads=(NATIVE_AOT_KERNELS,),
            file_slots=partial(_file_slots, file),
            layout=OneFile(f"Register{file.name}.cpp"),
        )
        for file in section_files(job)
    ]


#: The C++ namespace of the wrappers, in which outputs are meta tensors whatever allocates those of the device.
_NAMESPACE: Final = "define_meta"
_META_ALLOCATION: Final = Allocation("at::empty{}", options="options.device(at::kMeta)")


def meta_registrations(file: SectionFile) -> Iterator[Registration]:
    """Registrations of the backend's shape functions."""
    for group in _groups(file):
        function = group.functional
        kernel = kernel_argument(f"{_NAMESPACE}::{_wrapper(function).name}", function.library)
        yield Registration(function.namespace, META.name, function.name.text, kernel, breaks_line=False)


def meta_definitions(unit: KernelUnit, wrapping: FileBackend, context: FragmentContext) -> list[str]:
    """Wrapper of the backend's shape function, with the class of its outputs, if the entry asks for it."""
    if not isinstance(unit, NativeFunctionsGroup) or not wrapping.entry_options(unit.out).register_meta:
        return []
    wrapper = _wrapper(unit.functional)
    output = OutputClass(
        name=f"structured_{wrapping.kernels[unit.out].name}_define_meta",
        parent=structured_parent(unit, wrapping),
        kind=SchemaKind.functional,
        outputs=len(unit.functional.schema.returns),
        inherits=unit.out.structured_inherits is not None,
        guard="",
        moves_guard=False,
        names=context.rules.set_output_takes_names,
    )
    head = wrapper.signature.definition(wrapper.name)
    body = structured_body(wrapper, output, unit, META, context)
    return [_enclose(f"{print_class(output)}\n{head} {{\n{body}\n}}")]


def _groups(file: SectionFile) -> Iterator[NativeFunctionsGroup]:
    for entry in file.section.entries:
        if entry.options.register_meta and entry.function.group is not None:
            yield entry.function.group


def _wrapper(function: NativeFunction) -> KernelWrapper:
    signature = native.signature(function)
    return KernelWrapper(function, WrapperKind.structured, f"wrapper_Meta_define_{signature.name}", signature)


def _enclose(text: str) -> str:
    return f"namespace {_NAMESPACE} {{\n{text.strip()}\n}} // namespace {_NAMESPACE}"


def end_of_registrations(rules: Rules) -> str:
    """What ends a block of registrations."""
    return "}" if rules.registrations_end_without_semicolon else "};"


def print_registrations(registrations: Iterable[Registration], end: str = "}") -> list[str]:
    """Lines of the registrations, a block for each namespace and key, in the order of their first registrations.

    >>> print("\\n".join(print_registrations([Registration("aten", "HPU", "relu", "&relu", "enabled()")])))
    TORCH_LIBRARY_IMPL(aten, HPU, m) {
        if (enabled()) {
          m.impl("relu",
          &relu);
        }
    }
    """
    blocks: dict[tuple[str, str], list[str]] = {}
    for registration in registrations:
        blocks.setdefault((registration.namespace, registration.key), []).append(_statement(registration))
    return [
        line
        for (namespace, key), statements in blocks.items()
        for line in (f"TORCH_LIBRARY_IMPL({namespace}, {key}, m) {{", *statements, end)
    ]


def _statement(registration: Registration) -> str:
    operator, kernel = registration.operator, registration.kernel
    if not operator:
        text = f"m.fallback({kernel});"
    elif registration.macro:
        text = f'{registration.macro}(m, "{operator}", {kernel});'
    else:
        gap = "\n" if registration.breaks_line else " "
        text = f'm.impl("{operator}",{gap}{kernel});'
    if registration.condition:
        body = text.replace("\n", "\n  ")
        text = f"if ({registration.condition}) {{\n  {body}\n}}"
    return "    " + text.replace("\n", "\n    ")


def without_blank_lines(texts: Iterable[str]) -> list[str]:
    """Lines of texts that are not blank."""
    return [line for text in texts for line in text.splitlines() if line]
