"""Gradients of the operators with formulas, as one of the frameworks computes them.

`python gradients.py FRAMEWORK OUT` writes the results and the gradients of all arguments as an NPZ file.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from typing import Any

import numpy as np

_SIZES = ((1, 1), (4, 8), (3, 257), (1, 1000), (0, 5), (6, 2))


def calls(ops: Any, integers: Callable[[Any], Any]) -> Iterator[tuple[str, Callable[..., Any], list[Any]]]:  # noqa: ANN401
    """Calls of operators: a name, the function of the tensors that get gradients, and their values."""
    for number, (rows, length) in enumerate(_SIZES):
        random = np.random.default_rng(number)
        x, weight, weights = (random.standard_normal(sizes) for sizes in ((rows, length), length, rows))
        segments = integers(random.integers(0, 3, rows))
        for eps in (1e-6, 0.5):
            yield f"rms_norm {x.shape} {eps}", lambda x, w, eps=eps: ops.rms_norm(x, w, eps), [x, weight]
        yield f"segment_sum {x.shape}", lambda x, s=segments: ops.segment_sum(x, s, count=3), [x]
        weighted = lambda x, w, s=segments: ops.segment_sum(x, s, w, count=4)  # noqa: E731
        yield f"segment_sum {x.shape} weights", weighted, [x, weights]
        yield f"scaled {x.shape}", lambda x: ops.scaled(x, -3.5), [x]


def in_torch(function: Callable[..., Any], arrays: Sequence[Any], grad: Any) -> list[Any]:  # noqa: ANN401
    """The result and the gradients of a function, by PyTorch's autograd."""
    import torch

    tensors = [torch.from_numpy(array).requires_grad_() for array in arrays]
    result = function(*tensors)
    gradients = torch.autograd.grad(result, tensors, torch.from_numpy(grad(result.shape)))
    return [result.detach().numpy(), *[gradient.numpy() for gradient in gradients]]


def in_jax(function: Callable[..., Any], arrays: Sequence[Any], grad: Any) -> list[Any]:  # noqa: ANN401
    """The result and the gradients of a function, by JAX, eagerly, which has to agree with `jit`."""
    import jax

    def both(*arrays: Any) -> Any:  # noqa: ANN401
        result, back = jax.vjp(function, *arrays)
        return result, *back(jax.numpy.asarray(grad(result.shape)))

    eager, compiled = both(*arrays), jax.jit(both)(*arrays)
    for one, other in zip(eager, compiled, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)
    return [np.asarray(value) for value in eager]


def main(framework: str, out: str) -> None:
    """Compute all of them."""
    if framework == "torch":
        import torch

        ops, integers, compute = import_module("acme_views.torch"), torch.from_numpy, in_torch
    else:
        import jax

        jax.config.update("jax_enable_x64", True)
        ops, integers, compute = import_module("acme_views.jax"), jax.numpy.asarray, in_jax
    found = {}
    for name, function, arrays in calls(ops, integers):
        grad = lambda shape: np.random.default_rng(7).standard_normal(shape)  # noqa: E731
        for place, value in enumerate(compute(function, arrays, grad)):
            found[f"{name} {place}"] = value
    np.savez(out, **found)


if __name__ == "__main__":
    main(*sys.argv[1:])
