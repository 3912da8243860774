"""Declarations of kernels: the names of `torchgen.dest.native_functions`."""

from __future__ import annotations

from opwright.emit.aten.dispatch_key_headers import kernel_macro
from opwright.emit.aten.native_headers import structured_class
from opwright.torchgen import context
from opwright.torchgen.api.types.signatures import kernel_signature
from opwright.torchgen.dest.register_dispatch_key import model_backend, model_unit, unit_members
from opwright.torchgen.interface.faults import faults_as_assertions
from opwright.torchgen.interface.functions import (
    BackendIndex,
    NativeFunction,
    NativeFunctionsGroup,
    model_group,
)
from opwright.torchgen.interface.installed import installed_rules


def compute_native_function_declaration(
    g: NativeFunctionsGroup | NativeFunction, backend_index: BackendIndex
) -> list[str]:
    """Declarations of the kernels of a function or a group: a class if they are structured.

    Raises AssertionError for a kernel that takes symbolic integers if its operator has none.
    """
    backend, rules = model_backend(backend_index, g), installed_rules()
    kernel = backend.kernel(model_unit(g))
    if kernel is not None and kernel.structured and isinstance(g, NativeFunctionsGroup):
        return gen_structured(g, backend_index)
    texts: list[str] = []
    for f, function in unit_members(g):
        member_kernel = backend.kernels.get(function)
        if member_kernel is None:
            continue
        with faults_as_assertions(), context.native_function_manager(f):
            declared = backend.kernel_signature(function).declaration(member_kernel.name)
            if backend.external:
                # Programs replace the convention of kernels outside PyTorch.
                declared = kernel_signature(f, backend_index).decl(member_kernel.name)
        macro = "static" if backend.external else kernel_macro(member_kernel, rules, function.library)
        texts.append(f"{macro} {declared};")
    return texts


def gen_structured(g: NativeFunctionsGroup, backend_index: BackendIndex) -> list[str]:
    """Class of the structured kernel of a group; none if there is no kernel."""
    kernel = model_backend(backend_index, g).kernel(model_group(g))
    return [] if kernel is None else [structured_class(model_group(g), kernel, installed_rules())]
