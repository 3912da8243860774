"""Texts that `torchgen.gen` makes for importers: declarations of kernels, registrations of schemas, static calls."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from opwright.cpp.namespaces import closing, opening
from opwright.emit.aten import schemas
from opwright.emit.aten.meta_headers import meta_class
from opwright.emit.aten.static_dispatch import Caller, arguments, fallback_call, kernel_call, static_call
from opwright.model.dispatch_key import DispatchKey as ModelKey
from opwright.model.library import PYTORCH
from opwright.model.native_function import Kernel
from opwright.model.native_function import NativeFunction as ModelFunction
from opwright.torchgen.api.translate import model_given, model_wanted
from opwright.torchgen.api.types.signatures import CppSignature, DispatcherSignature
from opwright.torchgen.context import native_function_manager
from opwright.torchgen.dest.native_functions import compute_native_function_declaration
from opwright.torchgen.interface.faults import Invalid
from opwright.torchgen.interface.functions import (
    BackendIndex,
    NativeFunction,
    NativeFunctionsGroup,
    model_function,
    model_group,
    model_kernel,
)
from opwright.torchgen.interface.keys import DispatchKey, current_value, model_key
from opwright.torchgen.selective_build.selector import SelectiveBuilder

Unit = NativeFunction | NativeFunctionsGroup
Signature = CppSignature | DispatcherSignature


def get_native_function_declarations(
    *,
    grouped_native_functions: Sequence[Unit],
    backend_indices: dict[DispatchKey, BackendIndex],
    native_function_decl_gen: Callable[[Unit, BackendIndex], list[str]] = compute_native_function_declaration,
) -> list[str]:
    """Lines that declare all kernels in their namespaces; a function makes those of a unit for a dispatch key.

    Raises AssertionError for a unit with kernels in several namespaces.
    """
    kernels: dict[str, list[str]] = {}
    for unit in grouped_native_functions:
        declared = kernels.setdefault(_namespace(unit, backend_indices.values()), [])
        for index in backend_indices.values():
            declared += native_function_decl_gen(unit, index)
    return get_native_function_declarations_from_ns_grouped_kernels(ns_grouped_kernels=kernels)


def _namespace(unit: Unit, indices: Iterable[BackendIndex]) -> str:
    kernels = [index.get_kernel(unit) for index in indices]
    namespaces = {kernel.cpp_namespace for kernel in kernels if kernel is not None}
    if len(namespaces) > 1:
        name = unit.func.name if isinstance(unit, NativeFunction) else unit.functional.func.name
        raise Invalid(f"the kernels of `{name}` are in several namespaces: {', '.join(sorted(namespaces))}")
    default: str = current_value("DEFAULT_KERNEL_NAMESPACE")
    return namespaces.pop() if namespaces else default


def get_native_function_declarations_from_ns_grouped_kernels(*, ns_grouped_kernels: dict[str, list[str]]) -> list[str]:
    """Lines of declarations inside their namespaces, each declaration once.

    >>> lines = get_native_function_declarations_from_ns_grouped_kernels(ns_grouped_kernels={"at": ["f();", "f();"]})
    >>> lines[:-1]
    ['', 'namespace at {', 'f();', '} // namespace at']
    """
    lines: list[str] = []
    for namespace, declared in ns_grouped_kernels.items():
        lines += ["", *opening(namespace).split("\n"), *dict.fromkeys(declared), *closing(namespace).split("\n")]
        # Callers compare these lines with those of PyTorch's generator.
        lines.append(" " * 8)
    return lines


def compute_meta_function_declaration(g: NativeFunctionsGroup) -> str | None:
    """Class with the shape function of a structured group; None for another group."""
    return meta_class(model_group(g)) if g.structured else None


def get_native_function_schema_registrations(
    *, native_functions: Sequence[NativeFunction], schema_selector: SelectiveBuilder
) -> tuple[list[str], str]:
    """Statements that register the selected operators of PyTorch, and the libraries of other namespaces."""
    namespaces: dict[str, list[ModelFunction]] = {}
    for function in native_functions:
        chosen = namespaces.setdefault(function.namespace, [])
        if schema_selector.is_native_function_selected(function):
            chosen.append(model_function(function))
    registrations = schemas.registrations(namespaces.pop(PYTORCH.namespace, ()))
    return registrations, "".join([f"\n{schemas.library(name, functions)}" for name, functions in namespaces.items()])


def static_dispatch(sig: Signature, f: NativeFunction, backend_indices: list[BackendIndex]) -> str:
    """Body of a function with this signature: a call of the kernel, or a switch if several keys have one."""
    if not backend_indices:
        return ""
    backends, kernels = _static_backends(f, backend_indices)
    return static_call(model_function(f), backends, _caller(sig, f), kernels)


def generate_static_dispatch_backend_call(sig: Signature, f: NativeFunction, backend_index: BackendIndex) -> str:
    """Call of the function of a dispatch key."""
    [key], kernels = _static_backends(f, [backend_index])
    return kernel_call(model_function(f), key, kernels.get(key), _caller(sig, f))


def generate_static_dispatch_fallback_call(
    sig: Signature, f: NativeFunction, backend_indices: list[BackendIndex]
) -> str:
    """Call of the kernel that serves all keys; without one, a statement that raises an error."""
    backends, _ = _static_backends(f, backend_indices)
    return fallback_call(model_function(f), backends, _caller(sig, f))


def translate_args(sig: Signature, cpp_sig: CppSignature) -> str:
    """Arguments of a call of a public function in the body of a function with a signature."""
    wanted = [model_wanted(binding.nctype) for binding in cpp_sig.arguments()]
    return arguments(tuple(map(model_given, sig.arguments())), tuple(wanted))


def _caller(sig: Signature, f: NativeFunction) -> Caller:
    """Function that calls, whose parameters have the types of the operator even if another one is current."""
    with native_function_manager(f):
        return Caller(tuple(map(model_given, sig.arguments())), symint=sig.symint)


def _static_backends(
    f: NativeFunction, indices: list[BackendIndex]
) -> tuple[list[ModelKey], Mapping[ModelKey, Kernel]]:
    """Keys of backends, and the kernels that they have for a function."""
    keys = [model_key(index.dispatch_key) for index in indices]
    pairs = [(key, index.get_kernel(f)) for key, index in zip(keys, indices, strict=True)]
    return keys, {key: model_kernel(kernel, key) for key, kernel in pairs if kernel is not None}
