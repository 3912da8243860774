"""Calls the functions of a package that has operators, and saves or compares what they return.

  python checks.py torch_scatter --save results.pt      with the original package on the path
  python checks.py torch_scatter --compare results.pt   with the package that is compared

The comparison also checks gradients against numerical ones, and the operators with `torch.library.opcheck`. It prints
four numbers between bars: operators with an equal schema, equal calls, sound gradients, operators that pass `opcheck`.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode


class Call(NamedTuple):
    """A call of a function of the package; `differentiable` is the position of an argument with gradients."""

    name: str
    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    differentiable: int | None = None


def scatter_calls(package: ModuleType) -> Iterator[Call]:
    """Calls of all functions of torch-scatter: with and without `out` and sizes, along each dimension."""
    for seed in range(6):
        torch.manual_seed(seed)
        dim = seed % 3 - 1
        src = torch.randn(4, 5, 3, dtype=torch.float64)
        index = torch.randint(0, 4, (src.size(dim),))
        at = dim % 3
        size = [*src.shape[:at], 6, *src.shape[at + 1 :]]
        for reduce in ("sum", "mul", "mean", "min", "max"):
            function = getattr(package, f"scatter_{reduce}")
            whole = torch.randint(0, 4, src.shape)
            for number, (given, sized) in enumerate(((index, None), (index, 6), (whole, None))):
                yield Call(f"scatter_{reduce}", function, (src, given, dim, None, sized), 0)
                start = torch.rand(size, dtype=torch.float64)
                yield Call(f"scatter_{reduce}", function, (src, given, dim, start), 0 if number == 0 else None)
            yield Call(f"scatter_{reduce}", function, ((src * 5).to(torch.int64), index, dim))
        for composite in ("scatter_std", "scatter_logsumexp", "scatter_softmax", "scatter_log_softmax"):
            # The deviation of one value has no gradient: it is the square root of zero.
            position = None if composite == "scatter_std" else 0
            yield Call(composite, getattr(package, composite), (src, index, dim), position)
            scripted = torch.jit.script(getattr(package, composite))
            yield Call(f"{composite}, scripted", scripted, (src, index, dim), position)
        for reduce in ("sum", "mul", "mean", "min", "max"):
            scripted = torch.jit.script(package.scatter)
            yield Call("scatter, scripted", scripted, (src, index, dim, None, None, reduce), 0)
        yield from _segment_calls(package, src)


def _segment_calls(package: ModuleType, src: Tensor) -> Iterator[Call]:
    index = torch.randint(0, 4, (4,)).sort()[0]
    indptr = torch.cat([torch.zeros(1, dtype=torch.long), torch.randint(0, 5, (3,)).sort()[0], torch.tensor([4])])
    rows = torch.stack([torch.randint(0, 4, (5,)).sort()[0] for _ in range(4)])
    for reduce in ("sum", "mean", "min", "max"):
        coo, csr = getattr(package, f"segment_{reduce}_coo"), getattr(package, f"segment_{reduce}_csr")
        yield Call(coo.__name__, coo, (src, index), 0)
        yield Call(coo.__name__, coo, (src, index, None, 7), 0)
        yield Call(coo.__name__, coo, (src, rows, None, 4), 0)
        yield Call(csr.__name__, csr, (src, indptr), 0)
        yield Call(csr.__name__, csr, ((src * 9).to(torch.int32), indptr))
        yield Call(csr.__name__, csr, (src, indptr, torch.rand(4, 5, 3, dtype=torch.float64)))
        start = torch.zeros(5, 5, 3, dtype=torch.float64)
        yield Call(coo.__name__, coo, (src, index, start))
    groups = torch.randn(4, 5, 3, dtype=torch.float64)
    yield Call("gather_coo", package.gather_coo, (groups, index), 0)
    yield Call("gather_csr", package.gather_csr, (groups, indptr), 0)
    yield Call("gather_csr", package.gather_csr, (groups, indptr, torch.rand(4, 5, 3, dtype=torch.float64)))


def cluster_calls(package: ModuleType) -> Iterator[Call]:
    """Calls of the functions of torch-cluster, some with random numbers of PyTorch."""
    for seed in range(6):
        torch.manual_seed(seed)
        x, y = torch.randn(30, 3), torch.randn(8, 3)
        batch, others = torch.randint(0, 3, (30,)).sort()[0], torch.randint(0, 3, (8,)).sort()[0]
        yield Call("fps", package.fps, (x, batch, 0.5, False))
        yield Call("knn", package.knn, (x, y, 3, batch, others))
        yield Call("knn_graph", package.knn_graph, (x, 2, batch))
        yield Call("radius", package.radius, (x, y, 1.0, batch, others))
        yield Call("radius_graph", package.radius_graph, (x, 1.5, batch))
        yield Call("grid_cluster", package.grid_cluster, (x, torch.ones(3)))
        row, col = torch.randint(0, 10, (40,)).sort()[0], torch.randint(0, 10, (40,))
        yield Call("graclus_cluster", package.graclus_cluster, (row, col, torch.rand(40)))
        yield Call("random_walk", package.random_walk, (row, col, torch.arange(8), 5))
        rowptr = torch.arange(0, 33, 4)
        yield Call("neighbor_sampler", package.neighbor_sampler, (torch.arange(8), rowptr, 2.0))


CALLS = {"torch_scatter": scatter_calls, "torch_cluster": cluster_calls}


def result_of(call: Call, seed: int) -> list[Tensor]:
    """The results of a call, the gradients of what has some, and the arguments, which the call may have written to."""
    torch.manual_seed(seed)
    arguments = [value.clone() if isinstance(value, Tensor) else value for value in call.arguments]
    if call.differentiable is not None:
        arguments[call.differentiable].requires_grad_()
    result = call.function(*arguments)
    results = list(result) if isinstance(result, tuple) else [result]
    found = [value.detach().clone() for value in results]
    if call.differentiable is not None:
        torch.manual_seed(seed)
        results[0].backward(torch.randn_like(results[0]))
        found.append(arguments[call.differentiable].grad)
    return found + [value.detach() for value in arguments if isinstance(value, Tensor)]


def schemas(namespace: str) -> set[str]:
    """The schemas that are registered in a namespace."""
    return {str(schema) for schema in torch._C._jit_get_all_schemas() if schema.name.startswith(f"{namespace}::")}


def gradient_is_sound(call: Call) -> bool:
    """Whether the gradients of a call, and of the `out` that it gets, are the numerical ones."""
    position = call.differentiable
    assert position is not None

    def function(value: Tensor) -> Tensor:
        arguments = [given.clone() if isinstance(given, Tensor) else given for given in call.arguments]
        arguments[position] = value
        result = call.function(*arguments)
        first: Tensor = result[0] if isinstance(result, tuple) else result
        return first

    try:
        return bool(torch.autograd.gradcheck(function, call.arguments[position].clone().requires_grad_()))
    except torch.autograd.gradcheck.GradcheckError as error:
        print(f"{call.name}: {str(error)[:300]}", file=sys.stderr)
        return False


class _Recorded(TorchDispatchMode):  # type: ignore[misc]
    """Keeps the calls of operators in a namespace, the first one with each number of tensors."""

    def __init__(self, namespace: str) -> None:
        super().__init__()
        self.namespace = namespace
        self.calls: dict[tuple[Any, int], tuple[Any, ...]] = {}

    def __torch_dispatch__(self, function, types, arguments=(), keywords=None):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN204
        if function.namespace == self.namespace:
            given = sum(isinstance(value, Tensor) for value in arguments)
            self.calls.setdefault((function, given), tuple(arguments))
        return function(*arguments, **(keywords or {}))


def checked_operators(namespace: str, calls: list[Call]) -> str:
    """How many of the operators that calls reach pass `torch.library.opcheck`."""
    with _Recorded(namespace) as recorded:
        for call in calls:
            call.function(*[value.clone() if isinstance(value, Tensor) else value for value in call.arguments])
    passed: dict[Any, bool] = {}
    for (function, _), arguments in recorded.calls.items():
        try:
            sound = torch.library.opcheck(function, arguments, raise_exception=True)
        except Exception as error:
            print(f"{function}: {str(error)[:300]}", file=sys.stderr)
            sound = None
        passed[function] = passed.get(function, True) and sound is not None
    return f"{sum(passed.values())} of {len(passed)}"


def main() -> None:
    """Save or compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("package")
    parser.add_argument("--save")
    parser.add_argument("--compare")
    chosen = parser.parse_args()
    calls = [*CALLS[chosen.package](importlib.import_module(chosen.package))]
    results = [result_of(call, seed) for seed, call in enumerate(calls)]
    registered = schemas(chosen.package)
    if chosen.save:
        torch.save((results, sorted(registered)), chosen.save)
        return
    wanted, registered_before = torch.load(chosen.compare)
    equal = 0
    for call, own, other in zip(calls, results, wanted, strict=True):
        try:
            torch.testing.assert_close(own, other, rtol=1e-12, atol=1e-12, equal_nan=True)
            equal += 1
        except AssertionError as error:
            print(
                f"{call.name}{[getattr(value, 'shape', value) for value in call.arguments]}: {error}", file=sys.stderr
            )
    gradients = [call for call in calls if call.differentiable is not None]
    sound = sum(map(gradient_is_sound, gradients))
    same = f"{len(registered & set(registered_before))} of {len(registered_before)}"
    numbers = (
        same,
        f"{equal} of {len(calls)}",
        f"{sound} of {len(gradients)}",
        checked_operators(chosen.package, calls),
    )
    print(" | ".join(numbers))


if __name__ == "__main__":
    main()
