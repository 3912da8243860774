"""What operators compute, of PyTorch's operators."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing import TypeAlias

    #: A tensor.
    Value: TypeAlias = Any


def rms_norm(x: Value, weight: Value, eps: float) -> Value:
    """Rows of the mean square 1, times a weight."""
    return x * ((x * x).mean(-1, keepdim=True) + eps).rsqrt() * weight


def rms_norm_backward(grad: Value, x: Value, weight: Value, eps: float) -> Value:
    """The gradients of that."""
    scale = ((x * x).mean(-1, keepdim=True) + eps).rsqrt()
    product = (grad * weight * x).mean(-1, keepdim=True)
    return scale * grad * weight - x * scale**3 * product, (grad * x * scale).reshape(-1, x.shape[-1]).sum(0)


def both_of(x: Value, others: list[Value], *, scale: float) -> Value:
    """The tensor times a number, and the squares of the others."""
    return x * scale, [other * other for other in others]


def elsewhere(x: Value) -> Value:
    """The argument itself, of which a caller gets a copy."""
    return importlib.import_module("torch").as_tensor(x)
