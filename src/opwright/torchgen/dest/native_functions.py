"""Declarations of kernels: the names of `torchgen.dest.native_functions`."""

from __future__ import annotations

from opwright.emit.aten import exports
from opwright.emit.aten.native_headers import structured_class
from opwright.model.native_function import NativeFunctionsGroup as ModelGroup
from opwright.torchgen.api.types.signatures import kernel_signature
from opwright.torchgen.context import native_function_manager
from opwright.torchgen.dest.register_dispatch_key import model_backend, model_unit, unit_members
from opwright.torchgen.interface.faults import faults_as_assertions
from opwright.torchgen.interface.functions import BackendIndex, NativeFunction, NativeFunctionsGroup
from opwright.torchgen.interface.installed import installed_rules

__all__ = ["compute_native_function_declaration"]


def compute_native_function_declaration(
    g: NativeFunctionsGroup | NativeFunction, backend_index: BackendIndex
) -> list[str]:
    """The declarations of the kernels of a function or a group: a class if they are structured.

    Raises AssertionError for a kernel that takes symbolic integers if its operator has none.
    """
    backend, unit, rules = model_backend(backend_index, g), model_unit(g), installed_rules()
    kernel = backend.kernel(unit)
    if kernel is not None and kernel.structured and isinstance(unit, ModelGroup):
        return [structured_class(unit, kernel, rules)]
    texts: list[str] = []
    for f, function in unit_members(g):
        own = backend.kernels.get(function)
        if own is None:
            continue
        with faults_as_assertions(), native_function_manager(f):
            declared = backend.kernel_signature(function).declaration(own.name)
            if backend.external:
                # Programs replace the convention of kernels outside PyTorch.
                declared = kernel_signature(f, backend_index).decl(own.name)
        macro = "static" if backend.external else exports.kernel_macro(own, rules, function.library)
        texts.append(f"{macro} {declared};")
    return texts
