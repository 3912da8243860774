"""Microseconds that calls take: both libraries, the same operator by hand, and by `torch.library.custom_op`.

The variants take turns in random order. The table has medians of the rounds, and of the ratios to the operator by hand
in the same round. Tensors are small, so that the call takes longer than the kernel.
"""

from __future__ import annotations

import os
import random
import statistics
import time
from collections.abc import Callable
from typing import Any, Final

import norms  # type: ignore[import-not-found]
import stable_norms  # type: ignore[import-not-found] # noqa: F401
import torch

DEVICE: Final = os.environ.get("DEVICE", "cuda")
ROUNDS, CALLS = (60, 400) if DEVICE == "cuda" else (30, 200)
#: On the CPU, what other processes do does not count.
CLOCK: Final = time.perf_counter if DEVICE == "cuda" else time.process_time
BY_HAND: Final = torch.ops.norms_by_hand
Results = tuple[torch.Tensor, torch.Tensor]


@torch.library.custom_op("norms_custom::rms_norm", mutates_args=())  # type: ignore[untyped-decorator]
def custom(x: torch.Tensor, w: torch.Tensor, eps: float = 1e-6) -> tuple[torch.Tensor, torch.Tensor]:
    """The operator as Python registers it."""
    return BY_HAND.rms_norm_fwd(x, w, eps)  # type: ignore[no-any-return]


def save(ctx: Any, inputs: tuple[torch.Tensor, torch.Tensor, float], output: Results) -> None:  # noqa: ANN401
    """Keep what the gradients need."""
    ctx.save_for_backward(*inputs[:2], output[1])


def backward(context: Any, grad: torch.Tensor, _: torch.Tensor) -> tuple[torch.Tensor | None, ...]:  # noqa: ANN401
    """The gradients."""
    return (*BY_HAND.rms_norm_bwd(grad, *context.saved_tensors), None)


custom.register_autograd(backward, setup_context=save)

Call = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
VARIANTS: Final[dict[str, Call]] = {
    "by hand": BY_HAND.rms_norm.default,
    "native": torch.ops.norms.rms_norm.default,
    "native, its Python function": norms.rms_norm,
    "stable": torch.ops.stable_norms.rms_norm.default,
    "custom_op": lambda x, w: torch.ops.norms_custom.rms_norm.default(x, w)[0],
}


def microseconds(function: Callable[[], object], calls: int) -> float:
    """Microseconds of a call, of many."""
    for _ in range(20):
        function()
    wait()
    begun = CLOCK()
    for _ in range(calls):
        function()
    passed = CLOCK() - begun
    wait()
    return passed / calls * 1e6


def wait() -> None:
    """Wait for the device."""
    if DEVICE == "cuda":
        torch.cuda.synchronize()


def measure(kind: str) -> dict[str, list[float]]:
    """Microseconds of each variant in each round."""
    needs_grad = kind != "no gradient"
    x = torch.randn(4, 64, device=DEVICE, requires_grad=needs_grad)
    w, g = torch.randn(64, device=DEVICE, requires_grad=needs_grad), torch.ones(4, 64, device=DEVICE)

    def run(variant: Call) -> object:
        return torch.autograd.grad(variant(x, w), (x, w), g) if kind == "backward too" else variant(x, w)

    times: dict[str, list[float]] = {name: [] for name in VARIANTS}
    for _ in range(ROUNDS):
        for name in random.sample(list(VARIANTS), len(VARIANTS)):
            variant = VARIANTS[name]
            calls = CALLS // 4 if kind == "backward too" else CALLS
            times[name].append(microseconds(lambda variant=variant: run(variant), calls))  # type: ignore[misc]
    return times


def kernel_bandwidth() -> None:
    """Time of the kernel alone: replays of a graph with 20 calls, against the bytes that have to move."""
    x = torch.randn(16384, 4096, device=DEVICE, dtype=torch.bfloat16)
    w = torch.randn(4096, device=DEVICE, dtype=torch.bfloat16)
    norms.rms_norm(x, w)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(20):
            norms.rms_norm(x, w)
    begun, ended = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    graph.replay()
    begun.record()
    graph.replay()
    ended.record()
    torch.cuda.synchronize()
    seconds = begun.elapsed_time(ended) / 1000 / 20
    print(f"kernel, 16384 x 4096 bfloat16: {seconds * 1e6:.0f} us, {2 * x.numel() * 2 / seconds / 1e12:.2f} TB/s")


def main() -> None:
    """Print the tables."""
    for kind in ("no gradient", "gradient recorded", "backward too"):
        times = measure(kind)
        print(f"{kind}: microseconds, and the ratio to the operator by hand (10th to 90th percentile of rounds)")
        for name, values in times.items():
            ratios = sorted(value / base for value, base in zip(values, times["by hand"], strict=True))
            low, high = ratios[len(ratios) // 10], ratios[len(ratios) * 9 // 10]
            median = statistics.median(values)
            print(f"  {name:28} {median:8.2f}   {statistics.median(ratios):5.2f} ({low:.2f} to {high:.2f})")
    if DEVICE == "cuda":
        kernel_bandwidth()


if __name__ == "__main__":
    main()
