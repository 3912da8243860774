"""The kernels as Python functions: results of the sizes and dtypes that those in C++ have."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from tests.library.required import reference

if TYPE_CHECKING:
    from typing import TypeAlias

    #: A tensor.
    Value: TypeAlias = Any

rms_norm = plain_norm = reference.rms_norm
rms_norm_backward = reference.rms_norm_backward


def pool(image: Value, height: int, bias: Value, scale: Value, *, width: int | None) -> Value:
    """Zeros of the sizes that the entry says."""
    del bias, scale, width
    return image.new_zeros([*image.shape[:2], height, image.shape[4] // 2])


def joined(tensors: list[Value], scale: Value) -> Value:
    """Zeros for each tensor."""
    return scale.new_zeros([len(tensors), *scale.shape], dtype=importlib.import_module("torch").float64)


def windows(x: Value, width: int) -> Value:
    """Zeros for each window."""
    return x.new_zeros([*x.shape[:-1], x.shape[-1] - width + 1, width])


def first_of(tensors: list[Value]) -> Value:
    """Zeros for each row of the first one."""
    return tensors[0].new_zeros(tensors[0].shape[0])


def plus(p: Value, q: Value) -> Value:
    """The sum."""
    return (p + q).contiguous()


def halve_(self: Value, mask: Value) -> Value:
    """Nothing is written."""
    del mask
    return self


def over(x: Value, plane: Value, dim: int) -> Value:
    """Zeros of the sizes of the plane."""
    del dim
    return x.new_zeros(plane.shape)


def triple(self: Value) -> Value:
    """Three times the tensor."""
    return self * 3


def triple_(self: Value) -> Value:
    """The same in place."""
    return self.mul_(3)


def shift_into(result: Value, self: Value, by: Value) -> None:
    """Zeros are written."""
    del self, by
    result.zero_()


def triple_out(self: Value, *, out: Value) -> Value:
    """Three times the tensor, which is written."""
    return out.copy_(self * 3)


def summed_out(self: Value, scale: Value, *, wide: bool, out: Value) -> Value:
    """Nothing is written."""
    del self, scale, wide
    return out


def chained_out(tensors: list[Value], *, out: Value) -> Value:
    """Nothing is written."""
    del tensors
    return out


def raised_(self: Value, by: Value) -> Value:
    """Nothing is written."""
    del by
    return self


raised = plus


def column_sums(x: Value, by: Value) -> Value:
    """The sums of products over rows."""
    return (x * by).reshape(-1, x.shape[-1]).sum(0)
