"""What an author writes for PyTorch in Python: fakes, gradients and rules of batches."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch.library import register_autograd, register_fake, register_vmap

torch.ops.load_library(str(Path(__file__).parent / "_by_hand_torch.so"))
ops = torch.ops.by_hand


def _check(holds: bool, message: str) -> None:
    if not holds:
        raise RuntimeError(message)


@register_fake("by_hand::rms_norm")
def _(x: Any, weight: Any, eps: float = 1e-6) -> Any:
    _check(x.dim() >= 1 and weight.dim() == 1 and weight.dtype == x.dtype, "by_hand::rms_norm: wrong tensors")
    _check(weight.size(0) == x.size(-1), "by_hand::rms_norm: `weight` has another size")
    return torch.empty_like(x, memory_format=torch.contiguous_format)


@register_fake("by_hand::rms_norm_backward")
def _(grad: Any, x: Any, weight: Any, eps: float = 1e-6) -> Any:
    _check(grad.shape == x.shape and weight.dim() == 1, "by_hand::rms_norm_backward: wrong tensors")
    return torch.empty_like(x, memory_format=torch.contiguous_format), torch.empty_like(weight)


@register_fake("by_hand::rotary_")
def _(x: Any, cos: Any, sin: Any) -> None:
    _check(x.dim() >= 2 and cos.shape == sin.shape == (x.size(-2), x.size(-1) // 2), "by_hand::rotary_: wrong sizes")


@register_fake("by_hand::top_k")
def _(scores: Any, k: int) -> Any:
    _check(scores.dim() >= 1 and 1 <= k <= scores.size(-1), "by_hand::top_k: wrong k")
    sizes = [*scores.shape[:-1], k]
    return scores.new_empty(sizes), scores.new_empty(sizes, dtype=torch.int32)


@register_fake("by_hand::segment_sum")
def _(x: Any, segments: Any, weights: Any = None, *, count: int) -> Any:
    _check(x.dim() == 2 and segments.shape == x.shape[:1] and count >= 0, "by_hand::segment_sum: wrong sizes")
    return x.new_empty([count, x.size(1)])


@register_fake("by_hand::segment_gather")
def _(rows: Any, segments: Any, weights: Any = None) -> Any:
    _check(rows.dim() == 2 and segments.dim() == 1, "by_hand::segment_gather: wrong ranks")
    return rows.new_empty([segments.size(0), rows.size(1)])


@register_fake("by_hand::weighted_sum")
def _(xs: Any, weights: Any) -> Any:
    _check(len(xs) == len(weights) > 0, "by_hand::weighted_sum: each tensor has a weight")
    return xs[0].new_empty(xs[0].shape)


def _rms_norm_saved(ctx: Any, inputs: Any, output: Any) -> None:
    x, weight, ctx.eps = inputs
    ctx.save_for_backward(x, weight)


def _rms_norm_gradients(ctx: Any, grad: Any) -> Any:
    return (*ops.rms_norm_backward(grad, *ctx.saved_tensors, ctx.eps), None)


def _segment_sum_saved(ctx: Any, inputs: Any, keyword_only_inputs: Any, output: Any) -> None:
    x, segments, weights = inputs
    ctx.save_for_backward(x, segments, weights)


def _segment_sum_gradients(ctx: Any, grad: Any) -> Any:
    x, segments, weights = ctx.saved_tensors
    to_weights = None
    if ctx.needs_input_grad[2]:
        to_weights = (ops.segment_gather(grad, segments) * x).sum(1)
    return ops.segment_gather(grad, segments, weights), None, to_weights


register_autograd("by_hand::rms_norm", _rms_norm_gradients, setup_context=_rms_norm_saved)
register_autograd("by_hand::segment_sum", _segment_sum_gradients, setup_context=_segment_sum_saved)


@register_vmap("by_hand::rms_norm")
def _(info: Any, in_dims: Any, x: Any, weight: Any, eps: float = 1e-6) -> Any:
    if in_dims[1] is None:
        return ops.rms_norm(x.movedim(in_dims[0], 0), weight, eps), 0
    pairs = [
        (x if in_dims[0] is None else x.select(in_dims[0], item), weight.select(in_dims[1], item))
        for item in range(info.batch_size)
    ]
    return torch.stack([ops.rms_norm(one, by, eps) for one, by in pairs]), 0
