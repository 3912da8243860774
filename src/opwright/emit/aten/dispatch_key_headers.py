"""Dispatch-key functions such as `at::cpu::add`, which call the kernel of one backend without the dispatcher.

They have the names and signatures of the public C++ API, even if the overload's public functions are written by hand.
Their headers are `ops/{op}_{key}_dispatch.h`, `{Key}Functions.h` and `{Key}Functions_inl.h`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import TypeAlias

from opwright.convention import public_api
from opwright.convention.public_api import CppSignature
from opwright.cpp import namespaces
from opwright.cpp.text import include_line
from opwright.emit.aten.backend import (
    Backend,
    KernelUnit,
    WrappedUnit,
    backends,
    has_functions_header,
    public_namespace,
    wrapped_units,
)
from opwright.emit.emitter import AnyEmitter, Emitter, FilePerUnit, FragmentContext, Job, OneFile, Slots
from opwright.model.dispatch_key import DispatchKey
from opwright.model.library import PYTORCH, Library
from opwright.model.native_function import Kernel, NativeFunction
from opwright.release.operator_names.kernels import IN_MAIN_LIBRARY
from opwright.release.rules import Rules


def key_macro(key: DispatchKey, rules: Rules, library: Library = PYTORCH) -> str:
    """Macro of a dispatch key's functions. Only PyTorch has libraries for devices, and older releases one macro.

    >>> from opwright.model.dispatch_key import CUDA
    >>> from opwright.release.version import Version
    >>> key_macro(CUDA, Rules(Version(2, 14))), key_macro(CUDA, Rules(Version(2, 15)))
    ('TORCH_API', 'TORCH_CUDA_CPP_API')
    >>> key_macro(CUDA, Rules(Version(2, 15)), Library("acme", "acme", "acme", "ACME_API"))
    'ACME_API'
    """
    if library.in_libtorch and rules.device_export_macros:
        return key.export_macro or library.export
    return library.export


def kernel_macro(kernel: Kernel, rules: Rules, library: Library = PYTORCH) -> str:
    """Macro of a kernel function."""
    macro = key_macro(kernel.key, rules, library)
    is_of_main = macro != library.export and kernel.name in IN_MAIN_LIBRARY.in_release(rules)
    return library.export if is_of_main else macro


def class_macro(kernel: Kernel, rules: Rules, library: Library = PYTORCH) -> str:
    """Macro of the class of a structured kernel."""
    rule = kernel.key.class_export_rule
    if rule and library.in_libtorch and rules.value(rule):
        return kernel.key.export_macro
    return kernel_macro(kernel, rules, library)


RootWrappers: TypeAlias = tuple[str, Sequence[WrappedUnit]]
"""A root name with the units that one backend wraps."""


def function_signatures(function: NativeFunction, *, symint: bool = True) -> list[tuple[str, CppSignature]]:
    """The names and signatures of an overload's dispatch-key functions."""
    cpp_signatures = public_api.function_signatures(function).all(symint=symint)
    if not function.manual_cpp_binding:
        return [(signature.name, signature) for signature in cpp_signatures]
    schema = function.schema
    return [
        (public_api.name(schema, faithful=signature.faithful, symint=signature.symint), signature)
        for signature in cpp_signatures
    ]


def function_declarations(function: NativeFunction, macro: str, *, symint: bool = True) -> str:
    """Declarations of an overload's dispatch-key functions, which the macro exports."""
    signatures = function_signatures(function, symint=symint)
    return "\n".join([f"{macro} {signature.declaration(name)};" for name, signature in signatures])


def declarations(wrapped: Iterable[WrappedUnit], backend: Backend, context: FragmentContext) -> list[str]:
    """Declarations of the overloads that get a wrapper."""
    texts = []
    for unit, kinds in wrapped:
        macro = key_macro(backend.key, context.rules, unit.library)
        texts += [function_declarations(function, macro) for function, _ in kinds]
    return texts


def _roots(backend: Backend, job: Job) -> list[RootWrappers]:
    roots: dict[str, list[WrappedUnit]] = {}
    for wrapped in wrapped_units(job)[backend.key]:
        roots.setdefault(wrapped[0].root_name, []).append(wrapped)
    return [(name, tuple(wrappers)) for name, wrappers in roots.items()]


def _header(backend: Backend, root: RootWrappers, context: FragmentContext) -> Slots:
    return {"dispatch_namespaced_declarations": declarations(root[1], backend, context)}


def _all_headers(backend: Backend, job: Job) -> Slots:
    """Slots of `{Key}Functions_inl.h`, which includes the headers of all operators.

    In builds without per-operator headers it has the declarations instead.
    """
    lower = backend.key.lower
    per_operator = job.options.per_operator_headers
    units = {unit.root_name: unit for unit, _ in wrapped_units(job)[backend.key]} if per_operator else {}
    return {
        "dispatch_namespace": lower,
        "DispatchKeyFunctions_inl_includes": [
            include_line(f"{unit.library.headers}/{name}_{lower}_dispatch.h") for name, unit in sorted(units.items())
        ],
        "dispatch_namespaced_declarations": [] if per_operator else _in_namespaces(backend, job),
    }


def _in_namespaces(backend: Backend, job: Job) -> str:
    """Declarations, each once, in namespaces named after those of the kernels: `at::cpu` for `at::native`."""
    blocks: dict[str, dict[str, None]] = {}
    # The order of the namespaces is that of all units, including those without a declaration here.
    for unit in job.catalog.groups:
        blocks.setdefault(_namespace_of(backend, unit), {})
    for unit, kinds in wrapped_units(job)[backend.key]:
        blocks[_namespace_of(backend, unit)].update(dict.fromkeys(declarations([(unit, kinds)], backend, job)))
    return namespaces.blocks({namespace: lines for namespace, lines in blocks.items() if lines})


def _namespace_of(backend: Backend, unit: KernelUnit) -> str:
    return f"{public_namespace(backend.kernel(unit), unit.library)}::{backend.key.lower}"


def _emitters_of(backend: Backend, job: Job) -> list[AnyEmitter]:
    name, lower = backend.key.name, backend.key.lower
    all_emitters: list[AnyEmitter] = [
        Emitter(
            name=f"{lower}_functions_header",
            family="headers",
            template="DispatchKeyFunctions.h",
            layout=OneFile(f"{name}Functions.h"),
            file_slots=lambda job: {"inline_headers": f"#include <ATen/{name}Functions_inl.h>"},
        ),
        Emitter(
            name=f"{lower}_functions_inl_header",
            family="headers",
            template="DispatchKeyFunctions_inl.h",
            layout=OneFile(f"{name}Functions_inl.h"),
            file_slots=partial(_all_headers, backend),
        ),
    ]
    if job.options.per_operator_headers:
        all_emitters.append(
            Emitter(
                name=f"{lower}_function_headers",
                family="headers",
                template="DispatchKeyFunction.h",
                folder="ops",
                units=partial(_roots, backend),
                fragment=partial(_header, backend),
                file_slots=lambda job: {"dispatch_namespace": lower},
                layout=FilePerUnit(lambda root: f"{root[0]}_{lower}_dispatch.h"),
            )
        )
    return all_emitters


def emitters(job: Job) -> list[AnyEmitter]:
    """Emitters of the headers of each backend that has dispatch-key functions."""
    return [
        emitter
        for backend in backends(job)
        if has_functions_header(backend.key, job)
        for emitter in _emitters_of(backend, job)
    ]
