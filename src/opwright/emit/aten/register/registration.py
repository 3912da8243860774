"""Files `Register{Key}.cpp`, with the text of each unit: wrappers, registrations, dispatch-key functions.

A template of PyTorch's, `RegisterDispatchDefinitions.ini`, is filled for each unit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final

from opwright.cpp.namespaces import closing, opening
from opwright.cpp.translation import translate
from opwright.emit.aten.backend import (
    Backend,
    KernelUnit,
    KernelWrapper,
    WrappedUnit,
    WrapperKind,
    backends,
    public_namespace,
    wrapped_units,
)
from opwright.emit.aten.dispatch_key_headers import function_signatures
from opwright.emit.aten.native_aot import NATIVE_AOT_KERNELS, has_kernels
from opwright.emit.aten.register import structured_kernels
from opwright.emit.aten.register import wrapper as plain
from opwright.emit.aten.register.devices import guard_headers, laid_out_wrapper
from opwright.emit.aten.register.helpers import (
    operator_headers,
    registration_headers,
    registration_helpers,
    wrapped_functions,
)
from opwright.emit.aten.units import kernel_argument, shard_count
from opwright.emit.emitter import (
    AnyEmitter,
    DeclaredRead,
    Emitter,
    FragmentContext,
    Job,
    Sharded,
    Slots,
    UnitText,
)
from opwright.model.native_function import NativeFunction, NativeFunctionsGroup

#: The template that gives the text of units from its slots.
REGISTRATION_TEXT: Final[DeclaredRead[UnitText]] = DeclaredRead(
    "registration_text", lambda job: job.registration_text, lambda unit_text: unit_text.text
)


def definitions(wrapped: WrappedUnit, backend: Backend, context: FragmentContext) -> str:
    """Text of a unit, in the namespace of its kernels."""
    unit, kinds = wrapped
    namespace = public_namespace(backend.kernel(unit), unit.library)
    bodies: list[str] = []
    registrations: dict[str, list[str]] = {}
    functions: list[str] = []
    for function, kind in kinds:
        wrapper = wrapper_of(function, kind, backend)
        bodies.append(wrapper_definition(wrapper, unit, backend, context))
        if context.selection.selects(function):
            registrations.setdefault(function.namespace, []).append(registration(wrapper))
        functions.append(dispatch_key_definitions(wrapper, backend))
    slots = {
        "ns_prologue": opening(namespace),
        "dispatch_anonymous_definitions": bodies,
        "static_init_dispatch_registrations": _libraries(registrations, backend, context),
        "deferred_dispatch_registrations": "",
        # Templates of older releases, which `explain` fills, have this slot for each unit.
        "dispatch_helpers": "",
        "dispatch_namespace": backend.key.lower,
        "dispatch_namespaced_definitions": functions,
        "ns_epilogue": closing(namespace),
    }
    return context.read(REGISTRATION_TEXT)(slots)


def wrapper_of(function: NativeFunction, kind: WrapperKind, backend: Backend) -> KernelWrapper:
    """Wrapper of an overload."""
    if kind is WrapperKind.structured:
        return structured_kernels.structured_wrapper(function, backend)
    return plain.plain_wrapper(function, kind, backend)


def wrapper_definition(wrapper: KernelWrapper, unit: KernelUnit, backend: Backend, context: FragmentContext) -> str:
    """Definition of a wrapper, with the class of its outputs if its kernel is structured."""
    if wrapper.kind is WrapperKind.structured and isinstance(unit, NativeFunctionsGroup):
        return structured_kernels.definition(wrapper, unit, backend, context)
    return laid_out_wrapper(plain.definition(wrapper, backend), context.rules)


def _libraries(registrations: Mapping[str, list[str]], backend: Backend, context: FragmentContext) -> str:
    if context.options.skip_dispatcher_registration:
        return ""
    blocks = [
        "\n".join([f"\nTORCH_LIBRARY_IMPL({namespace}, {backend.key.name}, m) {{", "    " + "\n".join(listed), "}"])
        for namespace, listed in registrations.items()
    ]
    return "\n".join(blocks)


def registration(wrapper: KernelWrapper) -> str:
    """Call that registers a wrapper for its overload."""
    gap = " " if wrapper.kind is WrapperKind.structured else "\n"
    kernel = kernel_argument(wrapper.name, wrapper.function.library)
    return f'm.impl("{wrapper.function.name.text}",{gap}{kernel});'


def dispatch_key_definitions(wrapper: KernelWrapper, backend: Backend) -> str:
    """Definitions of the dispatch-key functions, which call the wrapper."""
    return "\n".join(
        [
            f"{signature.definition(name)} {{\nreturn {wrapper.name}({arguments});\n}}"
            for name, signature in function_signatures(wrapper.function, symint=backend.symint)
            for arguments in [", ".join(translate(signature.bindings, wrapper.signature.bindings))]
        ]
    )


def _fragment(backend: Backend, wrapped: WrappedUnit, context: FragmentContext) -> Slots:
    slots: Slots = {"dispatch_definitions": [definitions(wrapped, backend, context)]}
    if context.options.own_headers:
        functions = [function for function, _ in wrapped[1]]
        return {"ops_headers": operator_headers(functions, backend, context), **slots}
    return slots


def _units(backend: Backend, job: Job) -> Sequence[WrappedUnit]:
    return wrapped_units(job)[backend.key]


def _layout(backend: Backend, job: Job) -> Sharded[WrappedUnit]:
    units = _units(backend, job)
    shards = shard_count(job.rules.value(backend.key.shards_rule), lambda: sum([len(kinds) for _, kinds in units]), job)
    return Sharded(f"Register{backend.key.name}.cpp", shards, lambda wrapped: wrapped[0].root_name)


def _file_slots(backend: Backend, job: Job) -> Slots:
    per_operator, rocm = job.options.per_operator_headers, job.options.rocm
    return {
        "extra_cuda_headers": guard_headers(backend.key, rocm=rocm, rules=job.rules),
        "external_backend_headers": "",
        "dispatch_headers": registration_headers(
            backend,
            per_operator_headers=per_operator,
            rocm=rocm,
            native_aot=has_kernels(backend.key, job),
            rules=job.rules,
        ),
        "ops_headers": []
        if job.options.own_headers
        else operator_headers(wrapped_functions(backend, job), backend, job),
        "dispatch_helpers": registration_helpers(backend, job.rules),
        "dispatch_definitions": [],
    }


def emitters(job: Job) -> list[AnyEmitter]:
    """Emitters of the registrations of each backend of the run."""
    return [
        Emitter(
            name=f"register_{backend.key.lower}_source",
            family="sources",
            template="RegisterDispatchKey.cpp",
            units=partial(_units, backend),
            fragment=partial(_fragment, backend),
            reads=(NATIVE_AOT_KERNELS, REGISTRATION_TEXT),
            file_slots=partial(_file_slots, backend),
            layout=_layout(backend, job),
        )
        for backend in backends(job)
    ]
