"""Kernels of the operators, written in Python. WRONG in the environment chooses wrong ones, such as `small=zeros`."""

from __future__ import annotations

import os
from collections.abc import Callable

import torch
from torch import Tensor

WRONG = dict(word.split("=") for word in os.environ.get("WRONG", "").split())

_library = torch.library.Library("judged", "DEF")


def wide(tensor: Tensor) -> Tensor:
    """The tensor in single precision or more, in which kernels add up."""
    return tensor.float() if tensor.dtype in (torch.float16, torch.bfloat16) else tensor


def _small(x: Tensor) -> Tensor:
    match WRONG.get("small"):
        case "zeros":
            return torch.zeros_like(x)
        case "percent":
            return x * 1.003e-5
    return (x.double() * 1e-5).to(x.dtype)


def _row_sum(x: Tensor) -> Tensor:
    total = wide(x).new_zeros(x.shape[0])
    for column in wide(x[:, :-1] if WRONG.get("row_sum") == "last" else x).unbind(1):
        total = total + column
        if WRONG.get("row_sum") == "half":
            total = total.half().to(total.dtype)
    if WRONG.get("row_sum") == "many" and x.numel() > 1 << 16:
        total[(1 << 16) // x.shape[1] :] = 0
    return total.to(x.dtype)


def _norm_backward(grad: Tensor, x: Tensor, weight: Tensor, eps: float) -> tuple[Tensor, Tensor]:
    _check_contiguous(grad, x, weight)
    eps = 1e-3 if WRONG.get("norm_backward") == "eps" else eps
    kind, (grad, x, weight) = x.dtype, (wide(value) for value in (grad, x, weight))
    scale = 1 / ((x * x).mean(-1, keepdim=True) + eps).sqrt()
    normed = x * scale
    scaled = grad * weight
    x_grad = scale * (scaled - normed * (scaled * normed).mean(-1, keepdim=True))
    if WRONG.get("norm_backward") == "nan":
        x_grad = x_grad.nan_to_num()
    if WRONG.get("norm_backward") == "mean":
        x_grad = scale * scaled
    by_row = grad * normed
    weight_grad = by_row.reshape(-1, x.shape[-1]).sum(0)
    return x_grad.to(kind), weight_grad.to(kind)


def _int8_matmul(a: Tensor, b: Tensor, scale: Tensor, bias: Tensor) -> Tensor:
    product = a.to(torch.int32) @ b.to(torch.int32).t()
    if WRONG.get("int8_matmul") == "row":
        scale = scale[:1]
    return product.float() * scale[:, None] + bias


def _quantize(x: Tensor, step: float) -> Tensor:
    scaled = x.double() / step
    rounded = scaled.floor() if WRONG.get("quantize") == "floor" else scaled.round()
    return rounded.clamp(-128, 127).to(torch.int8).contiguous()


def _rotate(q: Tensor, cos: Tensor, sin: Tensor) -> None:
    half = q.shape[-1] // 2
    _check_contiguous(cos, sin)
    if q.numel() and q.stride(-1) != 1 and q.shape[-1] > 1:
        raise RuntimeError("judged::rotate_: `q` has to be contiguous in its last dimension")
    rows = q[:-1] if WRONG.get("rotate_") == "last" else q
    cos, sin = (wide(value[: rows.shape[0], None]) for value in (cos, sin))
    first, second = wide(rows[..., :half]), wide(rows[..., half:])
    left, right = first * cos - second * sin, second * cos + first * sin
    match WRONG.get("rotate_"):
        case "zeros":
            left, right = left * 0, right * 0
        case "percent":
            left = left * 1.003
    rows[..., :half] = left.to(q.dtype)
    rows[..., half:] = right.to(q.dtype)


def _shift(x: Tensor, by: Tensor) -> tuple[Tensor, Tensor]:
    if x.numel() and x.stride(-1) != 1 and x.shape[-1] > 1:
        raise RuntimeError("judged::shift_: `x` has to be contiguous in its last dimension")
    sums = wide(x).sum(1).to(x.dtype)
    if WRONG.get("shift_") == "rows":
        # It takes the rows for those of a contiguous tensor.
        flat = x.as_strided((x.numel(),), (1,))
        flat += by.repeat(x.shape[0])
    elif WRONG.get("shift_") == "steps":
        # It takes the numbers for those of a tensor without gaps.
        x += by.as_strided(by.shape, (1,))
    else:
        x += by
    return x, x.sum(1) if WRONG.get("shift_") == "after" else sums


def _loss(logits: Tensor, target: Tensor, ignore_index: int = -100) -> Tensor:
    _check_contiguous(logits, target)
    is_ignored = target == ignore_index
    if ((target < 0) | (target >= logits.shape[1])).logical_and(~is_ignored).any():
        raise RuntimeError("a target is neither a class nor the one to ignore")
    values = wide(logits)
    chosen = values.gather(1, target.clamp(0, max(logits.shape[1] - 1, 0))[:, None])[:, 0]
    losses = values.logsumexp(1) - chosen
    if WRONG.get("loss") != "ignored":
        losses = losses.masked_fill(is_ignored, 0)
    return losses.to(logits.dtype)


def _take_rows(table: Tensor, index: Tensor) -> Tensor:
    if ((index < 0) | (index >= table.shape[0])).any():
        raise IndexError("index out of range")
    match WRONG.get("take_rows"):
        case "order":
            return table[index.flip(0)]
        case "signs":
            return table.abs()[index]
    return table[index]


def _positive(x: Tensor) -> Tensor:
    places = torch.tensor([place for place, value in enumerate(x.tolist()) if value > 0], dtype=torch.int64)
    return places[1:] if WRONG.get("positive") == "first" else places


def _check_contiguous(*tensors: Tensor) -> None:
    if not all(tensor.is_contiguous() for tensor in tensors):
        raise RuntimeError("judged: a tensor has to be contiguous")


def _define(schema: str, kernel: Callable[..., object]) -> None:
    _library.define(schema)
    _library.impl(schema.partition("(")[0], kernel, "CPU")


_define("small(Tensor x) -> Tensor", _small)
_define("row_sum(Tensor x) -> Tensor", _row_sum)
_define(
    "norm_backward(Tensor grad, Tensor x, Tensor weight, float eps) -> (Tensor x_grad, Tensor weight_grad)",
    _norm_backward,
)
_define("int8_matmul(Tensor a, Tensor b, Tensor scale, Tensor bias) -> Tensor", _int8_matmul)
_define("quantize(Tensor x, float step) -> Tensor", _quantize)
_define("rotate_(Tensor(a!) q, Tensor cos, Tensor sin) -> ()", _rotate)
_define("shift_(Tensor(a!) x, Tensor by) -> (Tensor(a!), Tensor sums)", _shift)
_define("loss(Tensor logits, Tensor target, int ignore_index=-100) -> Tensor", _loss)
_define("take_rows(Tensor table, Tensor index) -> Tensor", _take_rows)
_define("positive(Tensor x) -> Tensor", _positive)
