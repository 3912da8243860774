"""A plug-in with a calling convention: kernels take and give views of arrays, which PyTorch does not know."""

from __future__ import annotations

from opwright.plugin import (
    TENSOR,
    Binding,
    KernelConvention,
    NativeFunction,
    Plugin,
    Signature,
    TypeConversion,
    const_ref,
    cpp_type,
    mut_ref,
    usual_signature,
)

VIEW = cpp_type("acme::View")
TYPES = {const_ref(TENSOR): VIEW, mut_ref(TENSOR): VIEW, TENSOR: VIEW}


def signature(function: NativeFunction) -> Signature:
    """The dispatcher's signature, with views in place of tensors."""
    usual = usual_signature(function)
    bindings = [
        Binding(binding.name, binding.role, TYPES.get(binding.type, binding.type), binding.argument)
        for binding in usual.bindings
    ]
    return Signature(usual.name, TYPES.get(usual.returns, usual.returns), tuple(bindings))


CONVERSIONS = [
    TypeConversion(VIEW, const_ref(TENSOR), "acme::View{ {0} }"),
    TypeConversion(TENSOR, VIEW, "{0}.tensor"),
]
plugin = Plugin(
    "acme_views",
    api=1,
    kernel_conventions=[KernelConvention("acme_views", signature, conversions=CONVERSIONS, includes=["views.h"])],
)
