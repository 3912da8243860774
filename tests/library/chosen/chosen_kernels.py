"""The kernels of the library that are Python functions."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor


def flat(self: Tensor, by: float, *, more: int) -> Tensor:
    """A kernel beside one in C++."""
    return self * by + more


def listed(
    self: Tensor,
    more: list[Tensor],
    sizes: list[int],
    *,
    name: str,
    other: Tensor | None,
    by: float | None,
    label: str | None,
    words: list[str],
) -> list[Tensor]:
    """A kernel with arguments of all kinds, whose results show them."""
    numbers = [*sizes, *([] if by is None else [by]), *([len(name)] if more else [])]
    numbers += [*([] if label is None else [len(label)]), *([len("".join(words))] if words else [])]
    return [self + (self if other is None else other), *[self.new_full((1,), number) for number in numbers]]


def scaled(self: Tensor, by: float) -> Tensor:
    """The only kernel of an operator."""
    return self * by


def rows(self: Tensor, weight: Tensor, *, eps: float) -> Tensor:
    """A kernel that reads memory in order."""
    assert self.is_contiguous()
    if eps > 100:
        raise ValueError("too large")
    return (self * weight).sum(-1) + eps
