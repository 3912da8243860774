"""What an author writes for JAX in Python: handlers, sizes, checks, gradients and rules of batches."""

from __future__ import annotations

import ctypes
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

_library = ctypes.CDLL(str(Path(__file__).parent / "_by_hand_jax.so"))
for _name in (
    "rms_norm",
    "rms_norm_backward",
    "rotary",
    "top_k",
    "segment_sum",
    "segment_gather",
    "weighted_sum",
):
    _handler = jax.ffi.pycapsule(getattr(_library, f"{_name}_handler"))
    jax.ffi.register_ffi_target(f"by_hand_{_name}", _handler, platform="cpu")


class TopK(NamedTuple):
    values: jax.Array
    indices: jax.Array


def _check(holds: bool, message: str) -> None:
    if not holds:
        raise ValueError(message)


def _check_real(op: str, x: Any) -> None:
    _check(x.dtype in (jnp.float32, jnp.float64), f"by_hand.{op}: dtype {x.dtype}")


@partial(jax.jit, static_argnames="eps")
def rms_norm(x: Any, weight: Any, eps: float = 1e-6) -> jax.Array:
    return _rms_norm(eps, x, weight)


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def _rms_norm(eps: float, x: Any, weight: Any) -> jax.Array:
    _check_real("rms_norm", x)
    _check(weight.dtype == x.dtype, "by_hand.rms_norm: `weight` has another dtype")
    _check(x.ndim >= 1 and weight.shape == x.shape[-1:], "by_hand.rms_norm: `weight` has another size")
    call = jax.ffi.ffi_call("by_hand_rms_norm", jax.ShapeDtypeStruct(x.shape, x.dtype), vmap_method="sequential")
    return call(x, weight, eps=np.float64(eps))


def _rms_norm_forward(eps: float, x: Any, weight: Any) -> Any:
    return _rms_norm(eps, x, weight), (x, weight)


def _rms_norm_gradients(eps: float, kept: Any, grad: Any) -> Any:
    return rms_norm_backward(grad, *kept, eps)


_rms_norm.defvjp(_rms_norm_forward, _rms_norm_gradients)


@partial(jax.jit, static_argnames="eps")
def rms_norm_backward(grad: Any, x: Any, weight: Any, eps: float = 1e-6) -> Any:
    _check_real("rms_norm_backward", x)
    _check(grad.dtype == weight.dtype == x.dtype, "by_hand.rms_norm_backward: other dtypes")
    _check(grad.shape == x.shape and weight.shape == x.shape[-1:], "by_hand.rms_norm_backward: other sizes")
    shapes = (jax.ShapeDtypeStruct(x.shape, x.dtype), jax.ShapeDtypeStruct(weight.shape, x.dtype))
    call = jax.ffi.ffi_call("by_hand_rms_norm_backward", shapes, vmap_method="sequential")
    return call(grad, x, weight, eps=np.float64(eps))


@jax.jit
def rotary_(x: Any, cos: Any, sin: Any) -> jax.Array:
    _check_real("rotary_", x)
    _check(cos.dtype == sin.dtype == x.dtype, "by_hand.rotary_: other dtypes")
    _check(x.ndim >= 2 and cos.shape == sin.shape, "by_hand.rotary_: wrong sizes")
    _check(cos.shape == (x.shape[-2], x.shape[-1] // 2) and x.shape[-1] % 2 == 0, "by_hand.rotary_: wrong sizes")
    shape = jax.ShapeDtypeStruct(x.shape, x.dtype)
    call = jax.ffi.ffi_call("by_hand_rotary", shape, vmap_method="sequential", input_output_aliases={0: 0})
    return call(x, cos, sin)


@partial(jax.jit, static_argnames="k")
def top_k(scores: Any, k: int) -> TopK:
    _check_real("top_k", scores)
    _check(scores.ndim >= 1 and 1 <= k <= scores.shape[-1], f"by_hand.top_k: k is {k}")
    sizes = (*scores.shape[:-1], k)
    shapes = (jax.ShapeDtypeStruct(sizes, scores.dtype), jax.ShapeDtypeStruct(sizes, jnp.int32))
    return TopK(*jax.ffi.ffi_call("by_hand_top_k", shapes, vmap_method="sequential")(scores, k=np.int64(k)))


def _check_segments(op: str, rows: Any, segments: Any, weights: Any) -> None:
    _check_real(op, rows)
    _check(rows.ndim == 2 and segments.ndim == 1, f"by_hand.{op}: wrong ranks")
    _check(segments.dtype in (jnp.int32, jnp.int64), f"by_hand.{op}: `segments` has dtype {segments.dtype}")
    if weights is not None:
        _check(weights.dtype == rows.dtype and weights.shape == segments.shape, f"by_hand.{op}: wrong `weights`")


@partial(jax.jit, static_argnames="count")
def segment_sum(x: Any, segments: Any, weights: Any = None, *, count: int) -> jax.Array:
    return _segment_sum(count, x, segments, weights)


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def _segment_sum(count: int, x: Any, segments: Any, weights: Any) -> jax.Array:
    _check_segments("segment_sum", x, segments, weights)
    _check(segments.shape[0] == x.shape[0] and count >= 0, "by_hand.segment_sum: wrong sizes")
    shape = jax.ShapeDtypeStruct((count, x.shape[1]), x.dtype)
    given = () if weights is None else (weights,)
    call = jax.ffi.ffi_call("by_hand_segment_sum", shape, vmap_method="sequential")
    return call(x, segments, *given, count=np.int64(count))


def _segment_sum_forward(count: int, x: Any, segments: Any, weights: Any) -> Any:
    return _segment_sum(count, x, segments, weights), (x, segments, weights)


def _segment_sum_gradients(count: int, kept: Any, grad: Any) -> Any:
    x, segments, weights = kept
    to_weights = None if weights is None else (segment_gather(grad, segments) * x).sum(1)
    return segment_gather(grad, segments, weights), None, to_weights


_segment_sum.defvjp(_segment_sum_forward, _segment_sum_gradients)


@jax.jit
def segment_gather(rows: Any, segments: Any, weights: Any = None) -> jax.Array:
    _check_segments("segment_gather", rows, segments, weights)
    shape = jax.ShapeDtypeStruct((segments.shape[0], rows.shape[1]), rows.dtype)
    given = () if weights is None else (weights,)
    return jax.ffi.ffi_call("by_hand_segment_gather", shape, vmap_method="sequential")(rows, segments, *given)


def weighted_sum(xs: Any, weights: Any) -> jax.Array:
    return _weighted_sum(list(xs), tuple(weights))


@partial(jax.jit, static_argnums=1)
def _weighted_sum(xs: Any, weights: tuple[float, ...]) -> jax.Array:
    _check(len(xs) == len(weights) > 0, "by_hand.weighted_sum: each array has a weight")
    for x in xs:
        _check_real("weighted_sum", x)
        _check(x.shape == xs[0].shape and x.dtype == xs[0].dtype, "by_hand.weighted_sum: wrong `xs`")
    shape = jax.ShapeDtypeStruct(xs[0].shape, xs[0].dtype)
    call = jax.ffi.ffi_call("by_hand_weighted_sum", shape, vmap_method="sequential")
    return call(*xs, weights=np.array(weights, np.float64))
