"""What an author writes in Python for TVM FFI: names and defaults."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import tvm_ffi

_functions: Any = tvm_ffi.load_module(str(Path(__file__).with_name("_by_hand_tvm_ffi.so")))
_rms_norm, _rms_norm_backward = _functions.rms_norm, _functions.rms_norm_backward
_rotary, _top_k = _functions.rotary_, _functions.top_k
_segment_sum, _segment_gather = _functions.segment_sum, _functions.segment_gather
_weighted_sum = _functions.weighted_sum


def rms_norm(x: Any, weight: Any, eps: float = 1e-6) -> Any:
    return _rms_norm(x, weight, eps)


def rms_norm_backward(grad: Any, x: Any, weight: Any, eps: float = 1e-6) -> Any:
    return _rms_norm_backward(grad, x, weight, eps)


def rotary_(x: Any, cos: Any, sin: Any) -> None:
    _rotary(x, cos, sin)


def top_k(scores: Any, k: int) -> Any:
    return _top_k(scores, k)


def segment_sum(x: Any, segments: Any, weights: Any = None, *, count: int) -> Any:
    return _segment_sum(x, segments, weights, count)


def segment_gather(rows: Any, segments: Any, weights: Any = None) -> Any:
    return _segment_gather(rows, segments, weights)


def weighted_sum(xs: Sequence[Any], weights: Sequence[float]) -> Any:
    return _weighted_sum(xs, weights)
