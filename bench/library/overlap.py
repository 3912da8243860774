"""Prints what checks of arguments cost for one call, with each C++ interface: `make bench-calls` runs it.

A kernel calls the check of written arguments that generated wrappers call, again and again, on tensors that share no
memory. What an operator requires is measured by calls from Python and from C++, in turns with calls of the same kernel
without it.
"""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable
from functools import partial
from statistics import median, quantiles
from typing import Any

import opwright

# Any: mypy does not follow PyTorch here.
torch: Any = importlib.import_module("torch")

ROUNDS, CALLS = 9, 1_000_000
#: Calls of operators: pairs of rounds, the calls of a round, and their arguments.
PAIRS, CALLS_IN_TURN = 201, 5_000
ARGUMENTS = (torch.ones(2, 3, 8), torch.ones(2, 3, 8), torch.ones(8), torch.ones(8), 1e-6)

_YAML = """
namespace: checked_{abi}
abi: {abi}
operators:
- func: one(Tensor src, Tensor dst, int calls) -> float
  dispatch: {{CPU: one}}
- func: three(Tensor a, Tensor b, Tensor c, Tensor dst, int calls) -> float
  dispatch: {{CPU: three}}
- func: bare(Tensor x, Tensor residual, Tensor weight, Tensor bias, float eps) -> float
  dispatch: {{CPU: kernel}}
- func: required(Tensor x, Tensor residual, Tensor weight, Tensor bias, float eps) -> float
  dispatch: {{CPU: kernel}}
  dims: {{x: "*b d", residual: "*b d", weight: d, bias: d}}
  dtypes: {{x: [float16, bfloat16, float32, float64], residual: x, weight: x, bias: x}}
  layout: {{x: contiguous, residual: contiguous, weight: contiguous, bias: contiguous}}
  requires: eps > 0
- func: called(Tensor x, Tensor residual, Tensor weight, Tensor bias, float eps, bool checks, int calls) -> float
  dispatch: {{CPU: called}}
"""

_CPP = """
#include <checked_{abi}/ops.h>
#include <opwright/{header}>
#include <ctime>

namespace {{
template <class Check>
double nanoseconds(int64_t calls, Check check) {{
  const std::clock_t begin = std::clock();
  for (int64_t call = 0; call < calls; ++call) {{
    check();
    asm volatile("" ::: "memory");
  }}
  const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  return seconds * 1e9 / static_cast<double>(calls);
}}
}} // namespace

namespace checked_{abi}::native {{
double one(const {tensor}& src, const {tensor}& dst, int64_t calls) {{
  return nanoseconds(calls, [&] {{ ::opwright::Operands("acme::f").reads("src", src).writes("dst", dst).check(); }});
}}
double three(const {tensor}& a, const {tensor}& b, const {tensor}& c, const {tensor}& dst, int64_t calls) {{
  return nanoseconds(calls, [&] {{
    ::opwright::Operands("acme::f").reads("a", a).reads("b", b).reads("c", c).writes("dst", dst).check();
  }});
}}
double kernel(const {tensor}&, const {tensor}&, const {tensor}&, const {tensor}&, double eps) {{
  return eps;
}}
double called(
    const {tensor}& x, const {tensor}& residual, const {tensor}& weight, const {tensor}& bias, double eps, bool checks,
    int64_t calls) {{
  return checks ? nanoseconds(calls, [&] {{ checked_{abi}::required(x, residual, weight, bias, eps); }})
                : nanoseconds(calls, [&] {{ checked_{abi}::bare(x, residual, weight, bias, eps); }});
}}
}} // namespace checked_{abi}::native
"""

_INTERFACES = {
    "native": {"header": "overlap.h", "tensor": "at::Tensor"},
    "stable": {"header": "stable_overlap.h", "tensor": "torch::stable::Tensor"},
}


def main() -> None:
    """Measure calls with tensors of their own, and with parts of one tensor."""
    tensors = [torch.ones(8, 8) for _ in range(4)]
    matrix = torch.ones(8, 64)
    cases = {
        "one read, one written": ("one", tensors[:2]),
        "three read, one written": ("three", tensors),
        "rows of one matrix": ("one", [matrix[0], matrix[1]]),
        "blocks of columns of one matrix": ("one", [matrix[:, :32], matrix[:, 32:]]),
    }
    for abi, texts in _INTERFACES.items():
        opwright.inline(_YAML.format(abi=abi), _CPP.format(abi=abi, **texts))
        operators = getattr(torch.ops, f"checked_{abi}")
        for name, (operator, arguments) in cases.items():
            rounds = [getattr(operators, operator)(*arguments, CALLS) for _ in range(ROUNDS)]
            print(f"{abi}, {name}: {median(rounds):.1f} ns ({min(rounds):.1f} to {max(rounds):.1f})")
        bare, required = operators.bare.default, operators.required.default
        show_difference(f"{abi}, from Python", [from_python(bare), from_python(required)])
        show_difference(
            f"{abi}, from C++",
            [partial(operators.called, *ARGUMENTS, checks, CALLS_IN_TURN) for checks in (False, True)],
        )


def from_python(operator: Callable[..., object]) -> Callable[[], float]:
    """What gives the processor time of a call in nanoseconds."""

    def run() -> float:
        begin = time.process_time()
        for _ in range(CALLS_IN_TURN):
            operator(*ARGUMENTS)
        return (time.process_time() - begin) / CALLS_IN_TURN * 1e9

    return run


def show_difference(caller: str, timed: list[Callable[[], float]]) -> None:
    """Print what checks add to a call, which runs without them and with them in turns."""
    with torch.inference_mode():
        times = [[run() for run in timed] for _ in range(PAIRS)]
    bare, checked = (median(column) for column in zip(*times, strict=True))
    low, middle, high = quantiles([checked - bare for bare, checked in times], n=4)
    print(
        f"{caller}, what four tensors have to be: {middle:.0f} ns (half of the pairs: {low:.0f} to {high:.0f}) "
        f"of a call of {checked:.0f} ns, {bare:.0f} without"
    )


if __name__ == "__main__":
    main()
