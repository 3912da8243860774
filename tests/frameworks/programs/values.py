"""Values of the operators, computed with NumPy in float64."""

from __future__ import annotations

from typing import Any

import numpy as np


def rms_norm(x: Any, weight: Any, eps: float = 1e-6) -> Any:  # noqa: ANN401
    """Rows divided by their root mean square."""
    x = x.astype(np.float64)
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + eps) * weight


def rotary(x: Any, cos: Any, sin: Any) -> Any:  # noqa: ANN401
    """Pairs of values rotated."""
    half = x.shape[-1] // 2
    first, second = x[..., :half], x[..., half:]
    return np.concatenate([first * cos - second * sin, second * cos + first * sin], -1)


def segment_sum(x: Any, segments: Any, weights: Any, count: int) -> Any:  # noqa: ANN401
    """Sums of the rows of each segment."""
    out = np.zeros((count, x.shape[1]))
    for place, segment in enumerate(segments):
        out[segment] += x[place] * (1 if weights is None else weights[place])
    return out
