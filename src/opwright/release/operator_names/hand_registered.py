"""Operators of PyTorch's YAML for which PyTorch registers kernels by hand, where the YAML does not say so."""

from __future__ import annotations

from typing import Final

from opwright.release.name_table import Names, NameTable

__all__ = ["BY_HAND"]

#: Dispatch key -> the operators with a kernel that is registered by hand, in place of a generated one.
BY_HAND: Final = {
    "Autograd": NameTable(
        "Operators with an autograd kernel in `VariableTypeManual.cpp`.",
        Names(
            "_fw_primal _make_dual copy_ detach detach_ resize_ resize_as_",
            "They change autograd's data in ways that no formula describes.",
        ),
        form="overload",
    ),
    "ADInplaceOrView": NameTable(
        "Operators that count versions and make views in `VariableTypeManual.cpp`.",
        Names(
            "_fw_primal _make_dual copy_ detach resize_ resize_as_",
            "They change autograd's data in ways that no formula describes.",
        ),
        form="overload",
    ),
    "Tracer": NameTable(
        "Operators with a kernel, or none, for tracing in `TraceTypeManual.cpp`.",
        Names(
            """_backward _fw_primal _make_dual _version copy_ data detach detach_ is_leaf output_nr requires_grad_
            resize_ resize_as_ retain_grad set_data""",
            "They read or change autograd's own data.",
        ),
        form="overload",
    ),
    "Functionalize": NameTable(
        "Operators with a kernel in `FunctionalizeFallbackKernel.cpp`.",
        Names("lift lift_fresh lift_fresh_copy", "They put a tensor into a functional wrapper."),
        Names("resize_", "It may need a larger storage, which a view of the old one cannot have."),
        Names("set_.source_Tensor", "It replaces the storage of `self`, so the link to its base ends."),
        Names("_to_copy", "A copy to a device that is functionalized anyway is no functional tensor."),
        Names("_unsafe_view", "Its result is a view for functionalization."),
        form="overload",
    ),
}
