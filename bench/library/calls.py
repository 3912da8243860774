"""Prints what calls of `acme.soft_clip` and its gradient cost, from the package in the current folder.

Beside the operator, in turns, runs what an author would write with `torch.library.custom_op` around the same kernels.
The costs of the kernels alone are taken off, so what is left is what the ways to register them cost.
"""

from __future__ import annotations

import importlib
import sys
import time
from collections.abc import Callable
from functools import partial
from statistics import median
from typing import Any

# Any: mypy does not follow PyTorch here.
torch: Any = importlib.import_module("torch")

ROUNDS, CALLS = 9, 3000
LIMIT = 0.5


def _below(operator: Callable[..., Any], *arguments: object) -> Any:  # noqa: ANN401
    """The result of the kernel, without anything that records."""
    with torch._C._AutoDispatchBelowADInplaceOrView():
        return operator(*arguments)


def _custom(operator: Callable[..., Any], backward: Callable[..., Any]) -> Callable[..., Any]:
    """The same operator as an author defines it with `torch.library.custom_op`."""

    def forward(self: Any, limit: float) -> Any:  # noqa: ANN401
        return _below(operator, self, limit)

    def setup(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:  # noqa: ANN401
        ctx.save_for_backward(output)
        ctx.limit = inputs[1]

    def gradient(ctx: Any, grad: Any) -> tuple[Any, None]:  # noqa: ANN401
        return _below(backward, grad, *ctx.saved_tensors, ctx.limit), None

    schema = "(Tensor self, float limit) -> Tensor"
    custom: Any = torch.library.custom_op("acme_custom::soft_clip", forward, mutates_args=(), schema=schema)
    custom.register_autograd(gradient, setup_context=setup)
    return custom  # type: ignore[no-any-return]


def processor_microseconds(call: Callable[[], object]) -> float:
    """The processor time of one call."""
    begin = time.process_time()
    for _ in range(CALLS):
        call()
    return (time.process_time() - begin) / CALLS * 1e6


def main() -> None:
    """Measure the operator and the custom one in turns."""
    sys.path.insert(0, ".")
    importlib.import_module("acme")
    torch.set_num_threads(1)
    operators = torch.ops.acme
    own, backward = operators.soft_clip.default, operators.soft_clip_backward.default
    custom = _custom(own, backward)
    plain, leaf = torch.ones(1), torch.ones(1, requires_grad=True)

    def both(operator: Callable[..., Any]) -> object:
        return torch.autograd.grad(operator(leaf, LIMIT), leaf, plain)

    def kernels() -> None:
        _below(own, plain, LIMIT)
        _below(backward, plain, plain, LIMIT)

    measured: dict[str, tuple[Callable[[], object], Callable[[Callable[..., Any]], object]]] = {
        "no gradient": (lambda: _below(own, plain, LIMIT), lambda operator: operator(plain, LIMIT)),
        "forward": (lambda: _below(own, plain, LIMIT), lambda operator: operator(leaf, LIMIT)),
        "forward and backward": (kernels, both),
    }
    for name, (kernel, call) in measured.items():
        rounds = []
        for _ in range(ROUNDS):
            base = processor_microseconds(kernel)
            mine, other = [processor_microseconds(partial(call, operator)) for operator in (own, custom)]
            rounds.append((mine - base, other - base))
        ours, theirs = [median(times) for times in zip(*rounds, strict=True)]
        ratio = median([mine / other for mine, other in rounds])
        print(f"{name}: {ours:.1f} us above the kernels, custom_op {theirs:.1f} us, ratio {ratio:.2f}")
    # What remains for an operator that PyTorch records in C++ is its engine, which all ways share.
    engine = median(
        [
            processor_microseconds(lambda: torch.autograd.grad(torch.neg(leaf), leaf, plain))
            - processor_microseconds(lambda: torch.neg(leaf))
            for _ in range(ROUNDS)
        ]
    )
    print(f"of forward and backward, PyTorch's engine takes {engine:.1f} us in either way")


if __name__ == "__main__":
    main()
