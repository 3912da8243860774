"""Wrappers of kernels that are plain functions, and those that refuse.

A wrapper has the dispatcher's convention and a name of its own for each overload, and calls the kernel in the
convention that the kernel has.
"""

from __future__ import annotations

from opwright.convention import dispatcher
from opwright.emit.aten.backend import Backend, KernelWrapper, WrapperKind
from opwright.emit.aten.register.devices import device_lines
from opwright.model.library import PYTORCH
from opwright.model.native_function import NativeFunction


def plain_wrapper(function: NativeFunction, kind: WrapperKind, backend: Backend) -> KernelWrapper:
    """Wrapper of an overload that has no structured kernel."""
    signature = dispatcher.signature(function) if backend.symint else dispatcher.concrete_signature(function)
    return KernelWrapper(function, kind, wrapper_name(function, backend), signature)


def wrapper_name(function: NativeFunction, backend: Backend) -> str:
    """The wrapper's name. It contains the overload's name, so it is unique in the namespace of the operator.

    Sources of external backends have wrappers of operators in several namespaces.
    """
    library = f"{function.namespace}_" if backend.external and function.namespace != PYTORCH.namespace else ""
    return f"wrapper_{backend.display_name}_{library}{function.name.overload}_{dispatcher.name(function.schema)}"


def definition(wrapper: KernelWrapper, backend: Backend) -> str:
    """The wrapper's definition."""
    if wrapper.kind is WrapperKind.refusal:
        return _refusing(wrapper)
    if wrapper.kind is not WrapperKind.kernel:
        return backend.derived_definition(wrapper)
    return (
        f"namespace {{\n{wrapper.signature.definition(wrapper.name)} {{\n"
        f"{backend.first_statements(wrapper)}{device_lines(wrapper.function, wrapper.name, backend)}\n"
        f"{backend.kernel_statements(wrapper)}\n"
        "}\n} // anonymous namespace"
    )


def _refusing(wrapper: KernelWrapper) -> str:
    written = wrapper.function.arguments.self_arg
    name = written.name if written is not None else "self"
    return (
        f"{wrapper.signature.definition(wrapper.name)} {{\n"
        f"  TORCH_CHECK_NOT_IMPLEMENTED({name}.is_meta(),\n"
        '    "Cannot inplace into non-meta tensor with meta tensor argument");\n'
        f"  return {name};\n"
        "}"
    )
