"""The files `Register{Key}.cpp`, with the text of each unit: wrappers, registrations, dispatch-key functions.

A template of PyTorch's, `RegisterDispatchDefinitions.ini`, is filled for each unit.
"""

from __future__ import annotations

from functools import partial
from typing import Final

from opwright.convention import dispatcher, native
from opwright.convention.caching import per_function
from opwright.cpp.namespaces import closing, opening
from opwright.cpp.signature import Signature
from opwright.cpp.translation import translate
from opwright.emit.aten import dispatch_key_functions
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
from opwright.emit.aten.native_aot import NATIVE_AOT_KERNELS, has_kernels
from opwright.emit.aten.register import structured_kernels
from opwright.emit.aten.register import wrapper as plain
from opwright.emit.aten.register.devices import guard_headers, with_initialization_line
from opwright.emit.aten.register.helpers import (
    helpers_of_unit,
    operator_headers,
    registration_headers,
    registration_helpers,
    wrapped_functions,
)
from opwright.emit.aten.register.wrapper import out_wrapper_definition
from opwright.emit.aten.units import kernel_argument, shard_count
from opwright.emit.emitter import AnyEmitter, DeclaredRead, Emitter, FragmentContext, Job, Sharded, Slots, UnitText
from opwright.emit.registrations import end_of_registrations
from opwright.model.native_function import NativeFunction, NativeFunctionsGroup

#: The template that gives the text of a unit from its slots.
REGISTRATION_TEXT: Final[DeclaredRead[UnitText]] = DeclaredRead(
    "registration_text", lambda job: job.registration_text, lambda unit_text: unit_text.text
)


def definitions(wrapped: WrappedUnit, backend: Backend, context: FragmentContext) -> str:
    """The text of one unit, in the namespace of its kernels."""
    unit, kinds = wrapped
    namespace = public_namespace(backend.kernel(unit), unit.library)
    bodies: list[str] = []
    registrations: list[str] = []
    functions: list[str] = []
    for function, kind in kinds:
        wrapper = wrapper_of(function, kind, backend)
        bodies.append(wrapper_definition(wrapper, unit, backend, context))
        if context.selection.selects(function):
            registrations.append(registration(wrapper))
        functions.append(dispatch_key_definitions(wrapper, backend))
    slots = {
        "ns_prologue": opening(namespace),
        "dispatch_helpers": helpers_of_unit(backend, context.rules),
        "dispatch_anonymous_definitions": bodies,
        "static_init_dispatch_registrations": _library(unit, registrations, backend, context),
        "deferred_dispatch_registrations": "",
        "dispatch_namespace": backend.key.lower,
        "dispatch_namespaced_definitions": functions,
        "ns_epilogue": closing(namespace),
    }
    return context.read(REGISTRATION_TEXT)(slots)


def wrapper_of(function: NativeFunction, kind: WrapperKind, backend: Backend) -> KernelWrapper:
    """The wrapper of an overload."""
    if kind is WrapperKind.structured:
        return structured_kernels.structured_wrapper(function, backend)
    return plain.plain_wrapper(function, kind, backend)


def wrapper_definition(wrapper: KernelWrapper, unit: KernelUnit, backend: Backend, context: FragmentContext) -> str:
    """The definition of a wrapper, with the class of its outputs if its kernel is structured."""
    if wrapper.kind is WrapperKind.structured and isinstance(unit, NativeFunctionsGroup):
        return structured_kernels.definition(wrapper, unit, backend, context)
    if wrapper.kind is WrapperKind.out:
        return with_initialization_line(out_wrapper_definition(wrapper, backend), context.rules)
    return with_initialization_line(plain.definition(wrapper, backend), context.rules)


def _library(unit: KernelUnit, registrations: list[str], backend: Backend, context: FragmentContext) -> str:
    """The registration of a unit's wrappers with the dispatcher."""
    if not registrations or context.options.skip_dispatcher_registration:
        return ""
    namespace = unit.namespace if isinstance(unit, NativeFunction) else unit.functional.namespace
    listed = "\n".join(registrations)
    end = end_of_registrations(context.rules)
    return f"\nTORCH_LIBRARY_IMPL({namespace}, {backend.key.name}, m) {{\n    {listed}\n{end}"


def registration(wrapper: KernelWrapper) -> str:
    """The call that registers a wrapper for its overload."""
    gap = " " if wrapper.kind is WrapperKind.structured else "\n"
    kernel = kernel_argument(wrapper.name, wrapper.function.library)
    return f'm.impl("{wrapper.function.name.text}",{gap}{kernel});'


def dispatch_key_definitions(wrapper: KernelWrapper, backend: Backend) -> str:
    """The definitions of the dispatch-key functions, which call the wrapper."""
    function = wrapper.function
    name = wrapper.name
    if backend.symint and wrapper.signature is dispatcher.signature(function):
        calls = _dispatcher_calls(function)
    elif backend.symint and wrapper.signature is native.signature(function):
        calls = _native_calls(function)
    else:
        calls = _calls_of(function, wrapper.signature, symint=backend.symint)
    return "\n".join([f"{head} {{\nreturn {name}({arguments});\n}}" for head, arguments in calls])


def _calls_of(function: NativeFunction, wanted: Signature, *, symint: bool) -> list[tuple[str, str]]:
    """The head of each of an overload's dispatch-key functions, and the arguments with which it calls the wrapper."""
    return [
        (signature.definition(name), ", ".join(translate(signature.bindings, wanted.bindings)))
        for name, signature in dispatch_key_functions.signatures(function, symint=symint)
    ]


@per_function
def _dispatcher_calls(function: NativeFunction) -> list[tuple[str, str]]:
    return _calls_of(function, dispatcher.signature(function), symint=True)


@per_function
def _native_calls(function: NativeFunction) -> list[tuple[str, str]]:
    return _calls_of(function, native.signature(function), symint=True)


def _fragment(backend: Backend, wrapped: WrappedUnit, context: FragmentContext) -> Slots:
    slots: Slots = {"dispatch_definitions": [definitions(wrapped, backend, context)]}
    if context.options.own_headers:
        functions = [function for function, _ in wrapped[1]]
        return {"ops_headers": operator_headers(functions, backend, context), **slots}
    return slots


def _units(backend: Backend, job: Job) -> list[WrappedUnit]:
    return list(wrapped_units(job)[backend.key])


def _shards(backend: Backend, job: Job) -> int:
    wrapped = wrapped_units(job)[backend.key]
    return shard_count(
        job.rules.value(backend.key.shards_rule), lambda: sum([len(overloads) for _, overloads in wrapped]), job
    )


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
    """The emitters of the registrations of each backend of the run."""
    return [
        Emitter(
            name=f"register_{backend.key.lower}_source",
            family="sources",
            template="RegisterDispatchKey.cpp",
            units=partial(_units, backend),
            fragment=partial(_fragment, backend),
            reads=(NATIVE_AOT_KERNELS, REGISTRATION_TEXT),
            file_slots=partial(_file_slots, backend),
            layout=Sharded(
                f"Register{backend.key.name}.cpp",
                _shards(backend, job),
                lambda wrapped: wrapped[0].root_name,
            ),
        )
        for backend in backends(job)
    ]
