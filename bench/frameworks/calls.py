"""Calls of the project's operators in turns with the same through glue that is written by hand, in one framework.

`python calls.py FRAMEWORK FOLDER` prints a JSON list: the operator, and the medians of the processor microseconds of a
call, ours and by hand, and of their ratio.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from importlib import import_module
from statistics import median
from typing import Any

import numpy as np

_ROUNDS, _CALLS = 21, 2000


def microseconds(call: Callable[[], object], finish: Callable[[Any], object]) -> float:
    """The processor time of one call."""
    start = time.process_time()
    for _ in range(_CALLS):
        result = call()
    finish(result)
    return (time.process_time() - start) / _CALLS * 1e6


def both(results: Any) -> Any:  # noqa: ANN401
    """The first of two results, as who wants both of them takes it."""
    first, _ = results
    return first


def main(framework: str, folder: str) -> None:
    """Measure all of them."""
    sys.path.insert(0, folder)
    random = np.random.default_rng(0)
    x, weight = random.standard_normal((4, 8)).astype("float32"), random.standard_normal(8).astype("float32")
    cos, sin = random.standard_normal((2, 4, 4)).astype("float32")
    segments = random.integers(0, 3, 4)
    finish: Callable[[Any], object] = lambda result: result  # noqa: E731
    own = import_module(f"acme_views.{framework}")
    make: Callable[[Any], Any]
    if framework == "torch":
        torch = import_module("torch")
        torch.set_num_threads(1)
        hand, make = import_module("torch_glue").ops, torch.from_numpy
        # Both as they are called without gradients and without what Python adds.
        own = torch.ops.acme_views
    elif framework == "jax":
        jax = import_module("jax")
        jax.config.update("jax_enable_x64", True)
        hand, make, finish = import_module("jax_glue"), jax.numpy.asarray, jax.block_until_ready
    else:
        hand, make = import_module("tvm_ffi_glue"), import_module("tvm_ffi").from_dlpack
    x, weight, cos, sin, segments = map(make, (x, weight, cos, sin, segments))
    calls: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
        "rms_norm": (
            lambda: own.rms_norm(x, weight, eps=1e-6),
            lambda: hand.rms_norm(x, weight, eps=1e-6),
        ),
        "rotary_": (lambda: own.rotary_(x, cos, sin), lambda: hand.rotary_(x, cos, sin)),
        "top_k": (lambda: both(own.top_k(x, 2)), lambda: both(hand.top_k(x, 2))),
        "segment_sum": (
            lambda: own.segment_sum(x, segments, count=3),
            lambda: hand.segment_sum(x, segments, count=3),
        ),
        "weighted_sum": (
            lambda: own.weighted_sum([x, x], [1.0, 2.0]),
            lambda: hand.weighted_sum([x, x], [1.0, 2.0]),
        ),
    }
    rows = []
    for name, (ours, by_hand) in calls.items():
        ours(), by_hand()
        rounds = [(microseconds(ours, finish), microseconds(by_hand, finish)) for _ in range(_ROUNDS)]
        rows.append([name, *[median(side) for side in zip(*rounds, strict=True)], median([a / b for a, b in rounds])])
    print(json.dumps(rows))


if __name__ == "__main__":
    main(*sys.argv[1:])
