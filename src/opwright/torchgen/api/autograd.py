"""Derivatives of functions: the names of `torchgen.api.autograd`."""

from __future__ import annotations

import re

from opwright.torchgen.api.cpp import return_names, return_type
from opwright.torchgen.interface.derivatives import (
    Derivative,
    DifferentiabilityInfo,
    DifferentiableInput,
    DifferentiableOutput,
    ForwardDerivative,
    NativeFunctionWithDifferentiabilityInfo,
    SavedAttribute,
)
from opwright.torchgen.interface.functions import NativeFunction
from opwright.torchgen.interface.keys import SchemaKind
from opwright.torchgen.interface.matching import match_differentiability_info
from opwright.torchgen.interface.types import Type
from opwright.torchgen.utils import IDENT_REGEX

__all__ = [
    "Derivative",
    "DifferentiabilityInfo",
    "DifferentiableInput",
    "DifferentiableOutput",
    "ForwardDerivative",
    "NativeFunctionWithDifferentiabilityInfo",
    "SavedAttribute",
    "dispatch_strategy",
    "gen_differentiable_outputs",
    "is_differentiable",
    "is_foreach_func",
    "match_differentiability_info",
    "uses_ident",
    "uses_retain_variables",
    "uses_single_grad",
]


def uses_ident(info: DifferentiabilityInfo | None, ident: str) -> bool:
    """Whether a gradient formula uses an identifier."""
    pattern = re.compile(IDENT_REGEX.format(ident))
    return info is not None and any(pattern.search(derivative.formula) for derivative in info.derivatives)


def uses_retain_variables(info: DifferentiabilityInfo | None) -> bool:
    """Whether a gradient formula asks whether the graph is kept."""
    return uses_ident(info, "retain_variables")


def uses_single_grad(info: DifferentiabilityInfo | None) -> bool:
    """Whether a gradient formula uses the gradient of the only result."""
    return uses_ident(info, "grad")


def is_differentiable(name: str, type: Type, info: DifferentiabilityInfo | None) -> bool:
    """Whether gradients flow through an argument or a result."""
    return type.is_tensor_like() and (info is None or name not in info.non_differentiable_arg_names)


def dispatch_strategy(fn: NativeFunctionWithDifferentiabilityInfo) -> str:
    """How autograd calls a function: `use_derived` if it has kernels or gradients of its own, else `use_type`."""
    has_gradients = fn.info is not None and any(info.has_derivatives for info in fn.info.values())
    return "use_derived" if fn.func.is_abstract or has_gradients else "use_type"


def is_foreach_func(f: NativeFunction) -> bool:
    """Whether a function applies another one to each tensor of a list."""
    return f.func.name.name.base.startswith("_foreach_")


def gen_differentiable_outputs(
    fn: NativeFunctionWithDifferentiabilityInfo, key: str = "Default"
) -> list[DifferentiableOutput]:
    """Results through which gradients flow; only the first of them if the formulas use `grad` alone.

    Raises RuntimeError if the file says it of another number of results, or denies it for an in-place function.
    """
    info = fn.info[key] if fn.info else None
    results = [
        DifferentiableOutput(cpp_type=return_type(result, symint=True).cpp_type(), type=result.type, name=name)
        for name, result in zip(return_names(fn.func), fn.func.func.returns, strict=True)
    ]
    stated = None if info is None else info.output_differentiability
    if stated is None:
        chosen = [result for result in results if is_differentiable(result.name, result.type, info)]
        return chosen[:1] if uses_single_grad(info) else chosen
    name = fn.func.func.name
    if len(stated) != len(results):
        raise RuntimeError(f"`output_differentiability` of `{name}` has {len(stated)} items for {len(results)} results")
    if fn.func.func.kind() is SchemaKind.inplace and not all(stated):
        raise RuntimeError(f"`output_differentiability` of `{name}` is false, and it works in place")
    return [result for result, is_chosen in zip(results, stated, strict=True) if is_chosen]
