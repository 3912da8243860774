"""Results that formulas of a library read, and whose gradients no formula reads.

Such a result may depend on arguments with gradients. A second gradient that took it for a constant would be wrong, so
the node of the operator gets the gradient of what it keeps, and raises an error.
"""

from __future__ import annotations

import re

from opwright.dialects.derivatives.entry import scope_of
from opwright.model.derivatives import DifferentiabilityInfo, SavedKind, only_first
from opwright.source.records import NamedTuple


class ConstantResult(NamedTuple):
    """A result by the name that formulas use, its position, and whether callers get it."""

    name: str
    position: int
    is_returned: bool


def kept_results(info: DifferentiabilityInfo) -> tuple[ConstantResult, ...]:
    """Results without a gradient of which a formula reads the value, and not only `result.detach()`."""
    if not info.function.library.takes_any_schema or not info.has_derivatives:
        return ()
    saved = {saved.name for saved in info.saved_outputs if saved.kind is SavedKind.VALUE}
    has_gradient = differentiable_results(info)
    return tuple(
        [
            ConstantResult(result.name, position, result.name not in info.function.library_fields.saved)
            for position, result in enumerate(scope_of(info.function).results)
            if result.name in saved and not has_gradient[position] and _is_read(info, result.name)
            if result.source is not None and result.source.type.text in ("Tensor", "Tensor?")
        ]
    )


def differentiable_results(info: DifferentiabilityInfo) -> tuple[bool, ...]:
    """Whether each result has a gradient: of those that may have one, the first alone if formulas read `grad`."""
    returns = info.function.schema.returns
    stated = info.output_differentiability or (True,) * len(returns)
    own = tuple([flag and result.type.is_tensor_like for flag, result in zip(stated, returns, strict=True)])
    return only_first(own) if info.uses_single_grad else own


def _is_read(info: DifferentiabilityInfo, name: str) -> bool:
    """Whether a formula reads a result without a call of `detach` that makes it a constant."""
    read = re.compile(rf"(?<![\w.]){name}\b(?!\s*\.\s*detach\s*\(\s*\))")
    return any(read.search(derivative.original_formula) for derivative in info.derivatives)


def second_gradient_fault(info: DifferentiabilityInfo, name: str) -> str:
    """Message of the error that the gradient of a result raises."""
    function = info.function
    operator = f"{function.namespace}::{(function.library_fields.written or function.schema).name}"
    return (
        f"the derivative for {operator} is not implemented with respect to its result '{name}', which a formula reads: "
        f"a second gradient needs it. Let the formulas read the gradient of '{name}' too, or '{name}.detach()' if it "
        "depends on no argument that has a gradient."
    )
