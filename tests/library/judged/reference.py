"""What the operators compute, as functions of PyTorch's operators."""

from __future__ import annotations

import torch
from torch import Tensor


def small(x: Tensor) -> Tensor:
    """A result whose numbers are small."""
    return x * 1e-5


def row_sum(x: Tensor) -> Tensor:
    """The sum of each row."""
    return x.sum(1)


def norm_backward(grad: Tensor, x: Tensor, weight: Tensor, eps: float) -> tuple[Tensor, Tensor]:
    """Gradients of RMSNorm, rounded after each step."""
    scale = torch.rsqrt((x * x).mean(-1, keepdim=True) + eps)
    scaled = grad * weight
    x_grad = scaled * scale - x * scale**3 * (scaled * x).mean(-1, keepdim=True)
    by_row = grad * x * scale
    return x_grad, by_row.flatten(0, -2).sum(0) if x.dim() > 1 else by_row


def int8_matmul(a: Tensor, b: Tensor, scale: Tensor, bias: Tensor) -> Tensor:
    """A product of small integers, with a factor for each row."""
    return (a.double() @ b.double().t()).to(scale.dtype) * scale[:, None] + bias


def quantize(x: Tensor, step: float) -> Tensor:
    """The nearest multiples of a step, half to even."""
    return (x / step).round().clamp(-128, 127).to(torch.int8)


def rotate(q: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """The new value of `q`."""
    first, second = q.chunk(2, -1)
    cos, sin = cos[:, None], sin[:, None]
    return torch.cat([first * cos - second * sin, second * cos + first * sin], -1)


def shift(x: Tensor, by: Tensor) -> tuple[Tensor, Tensor]:
    """The sums of the rows before, and the new value of `x`."""
    return x.sum(1), x + by


def loss(logits: Tensor, target: Tensor, ignore_index: int = -100) -> Tensor:
    """Cross entropy of each row."""
    return torch.nn.functional.cross_entropy(logits, target, ignore_index=ignore_index, reduction="none")


def take_rows(table: Tensor, index: Tensor) -> Tensor:
    """Rows by their numbers."""
    return table.index_select(0, index)


def positive(x: Tensor) -> Tensor:
    """The places of positive numbers."""
    return (x > 0).nonzero().flatten()
