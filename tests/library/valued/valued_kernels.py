"""The kernels, as functions of PyTorch's operators."""

from __future__ import annotations

import torch
from torch import Tensor


def take_rows(table: Tensor, index: Tensor) -> Tensor:
    """Rows by their numbers."""
    return table.index_select(0, index)


def segment_sum(x: Tensor, offsets: Tensor, weight: Tensor | None, *, mode: str, block: int) -> Tensor:
    """The rows between two offsets, added up."""
    assert mode in ("sum", "mean")
    scaled = x if weight is None else x * weight[:, None]
    ends = [*offsets[1:].tolist(), x.shape[0]]
    return torch.stack([scaled[start:end].sum(0) for start, end in zip(offsets.tolist(), ends, strict=True)])


def loss(logits: Tensor, target: Tensor, ignore_index: int) -> Tensor:
    """Cross entropy of each row."""
    return torch.nn.functional.cross_entropy(logits, target, ignore_index=ignore_index, reduction="none")


def permuted(tensors: list[Tensor], orders: list[Tensor]) -> list[Tensor]:
    """Each tensor in its order."""
    return [tensor[order] for tensor, order in zip(tensors, orders, strict=True)]


def layouts(x: Tensor, y: Tensor | None, z: list[Tensor]) -> Tensor:
    """For each tensor, whether it is contiguous (1) or has its channels last (2)."""
    given = [x, x if y is None else y, *z]
    return torch.tensor([1.0 if t.is_contiguous() else 2.0 * is_channels_last(t) for t in given])


def is_channels_last(tensor: Tensor) -> bool:
    """Whether the channels of a tensor are last in memory."""
    return bool(tensor.is_contiguous(memory_format=torch.channels_last))


def clear_(x: Tensor) -> None:
    """Write zeros."""
    x.zero_()
