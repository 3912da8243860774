"""Calls of every operator of acme, for the tests."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import acme
import torch

#: Whether the operators are those of `stable/`.
STABLE = (Path(acme.__file__).parent / "_autograd.py").exists()


class Case(NamedTuple):
    """The arguments of a call, made afresh for each test since some operators write to them."""

    args: Callable[[], tuple[Any, ...]]
    kwargs: Callable[[], dict[str, Any]] = dict
    is_differentiable: bool = False


def numbers(*sizes: int, dtype: torch.dtype = torch.double) -> torch.Tensor:
    """Values between 0.1 and 0.9, the same ones at each call."""
    generator = torch.Generator().manual_seed(len(sizes) + sum(sizes))
    return torch.rand(sizes, generator=generator, dtype=dtype) * 0.8 + 0.1


def leaf(*sizes: int) -> torch.Tensor:
    """Values of which a gradient is wanted."""
    return numbers(*sizes).requires_grad_()


def out(*sizes: int) -> dict[str, Any]:
    """The argument that an out overload writes to."""
    return {"out": torch.empty(sizes, dtype=torch.double)}


#: A call of each overload, by its name.
CASES = {
    "gamma": Case(lambda: (leaf(2, 3), 2.0), is_differentiable=True),
    "gamma_": Case(lambda: (numbers(2, 3), 2.0)),
    "gamma.out": Case(lambda: (numbers(2, 3), 2.0), lambda: out(2, 3)),
    "mix": Case(lambda: (leaf(2, 3), leaf(3)), lambda: {"weight": 0.25}, is_differentiable=True),
    "mix_": Case(lambda: (numbers(2, 3), numbers(3)), lambda: {"weight": 0.25}),
    "mix.out": Case(lambda: (numbers(2, 3), numbers(3)), lambda: out(2, 3)),
    "patches": Case(lambda: (leaf(4, 6), 2), is_differentiable=True),
    "patches.out": Case(lambda: (numbers(4, 6), 2), lambda: out(6, 4)),
    "rows": Case(lambda: (leaf(4, 3), 1, 2), is_differentiable=True),
    "rows_copy": Case(lambda: (leaf(4, 3), 1, 2), is_differentiable=True),
    "track": Case(lambda: (numbers(3), numbers(3) + 1), lambda: {"momentum": 0.5}),
    "weave": Case(lambda: ([leaf(2, 3), leaf(2, 3)], [0.5, 2.0]), is_differentiable=True),
    "tiles": Case(lambda: (leaf(5, 2), 2), is_differentiable=True),
    "moments": Case(lambda: (leaf(3, 4), 0), is_differentiable=True),
    "affine": Case(lambda: (leaf(2, 3), leaf(3), 2), is_differentiable=True),
    "pad_right": Case(lambda: (leaf(2, 3), 5, 7), is_differentiable=True),
    "sprinkle": Case(lambda: (leaf(4, 4), 0.5), is_differentiable=True),
    "soft_clip": Case(lambda: (leaf(2, 3), 0.5), is_differentiable=True),
    "soft_clip_backward": Case(lambda: (leaf(2, 3), leaf(2, 3), 0.5), is_differentiable=True),
    "scores": Case(lambda: (leaf(3, 4), leaf(5, 4)), lambda: {"scale": 0.5}, is_differentiable=True),
    "attention": Case(lambda: (leaf(3, 4), leaf(5, 4), leaf(5, 2)), lambda: {"scale": 0.5}, is_differentiable=True),
}
if STABLE:
    # With the native interface, a function of C++ that is no operator.
    CASES["weave_backward"] = Case(lambda: (leaf(2, 3), [0.5, 2.0]), is_differentiable=True)


def overload(name: str) -> Any:
    """The operator of a name such as `mix.out`."""
    base, _, name = name.partition(".")
    return getattr(getattr(torch.ops.acme, base), name or "default")


def call(name: str) -> Any:
    """The result of the case of a name."""
    case = CASES[name]
    return overload(name)(*case.args(), **case.kwargs())
