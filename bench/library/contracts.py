"""Prints what calls of functional, in-place and out overloads cost, and what choosing among several kernels costs.

All overloads are made from one kernel that writes its result. Beside them, in turns, run the same overloads registered
by hand in C++, and those that an author writes with `torch.library.custom_op` around the kernel.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from statistics import median
from typing import Any

import opwright
from bench.library.calls import CALLS, ROUNDS, processor_microseconds

# Any: mypy does not follow PyTorch here.
torch: Any = importlib.import_module("torch")

YAML = """\
namespace: measured
operators:
- func: scale(Tensor! result, Tensor self, float by) -> ()
  dispatch: {CPU: scale}
  outputs: like(self)
  contracts: [functional, out, inplace]
- func: single(Tensor self, float by) -> Tensor
  dispatch: {CPU: single}
  outputs: like(self)
- func: chosen(Tensor self, float by) -> Tensor
  dispatch:
    CPU:
    - {kernel: wide, when: "self.dim() > 4 && by > 128", priority: 2}
    - {kernel: strided, when: "!self.is_contiguous()", priority: 1}
    - flat
  outputs: like(self)
"""

CPP = """\
#include <ATen/native/Resize.h>
#include <ATen/ops/empty_like.h>
#include <torch/library.h>

void measured::native::scale(at::Tensor& result, const at::Tensor& self, double by) {
  const auto* from = self.const_data_ptr<float>();
  auto* to = result.mutable_data_ptr<float>();
  for (int64_t i = 0; i < self.numel(); ++i) {
    to[i] = from[i] * static_cast<float>(by);
  }
}

namespace {
at::Tensor scaled(const at::Tensor& self, double by) {
  auto result = at::empty_like(self);
  measured::native::scale(result, self, by);
  return result;
}
at::Tensor& scaled_(at::Tensor& self, double by) {
  measured::native::scale(self, self, by);
  return self;
}
at::Tensor& scaled_out(const at::Tensor& self, double by, at::Tensor& out) {
  at::native::resize_output(out, self.sizes());
  measured::native::scale(out, self, by);
  return out;
}
} // namespace

at::Tensor measured::native::single(const at::Tensor& self, double by) { return scaled(self, by); }
at::Tensor measured::native::wide(const at::Tensor& self, double by) { return scaled(self, by); }
at::Tensor measured::native::strided(const at::Tensor& self, double by) { return scaled(self, by); }
at::Tensor measured::native::flat(const at::Tensor& self, double by) { return scaled(self, by); }

TORCH_LIBRARY(by_hand, m) {
  m.def("scale(Tensor self, float by) -> Tensor");
  m.def("scale_(Tensor(a!) self, float by) -> Tensor(a!)");
  m.def("scale.out(Tensor self, float by, *, Tensor(a!) out) -> Tensor(a!)");
}
TORCH_LIBRARY_IMPL(by_hand, CPU, m) {
  m.impl("scale", &scaled);
  m.impl("scale_", &scaled_);
  m.impl("scale.out", &scaled_out);
}
"""


def _custom(kernel: Callable[..., Any]) -> tuple[Any, Any, Any]:
    """The functional, in-place and out operators of an author who has only the kernel, in Python."""

    def functional(self: Any, by: float) -> Any:  # noqa: ANN401
        result = torch.empty_like(self)
        kernel(result, self, by)
        return result

    def inplace(self: Any, by: float) -> None:  # noqa: ANN401
        kernel(self, self, by)

    def out(self: Any, by: float, out: Any) -> None:  # noqa: ANN401
        kernel(out, self, by)

    define = torch.library.custom_op
    return (
        define("measured_custom::scale", functional, mutates_args=(), schema="(Tensor self, float by) -> Tensor"),
        define("measured_custom::scale_", inplace, mutates_args=("self",), schema="(Tensor(a!) self, float by) -> ()"),
        define(
            "measured_custom::scale_out",
            out,
            mutates_args=("out",),
            schema="(Tensor self, float by, Tensor(a!) out) -> ()",
        ),
    )


def _measure(calls: dict[str, Callable[[], object]]) -> dict[str, list[float]]:
    """The processor time of each call in each round, in turns."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for call in calls.values():
        call()
    for _ in range(ROUNDS):
        for name, call in calls.items():
            times[name].append(processor_microseconds(call))
    return times


def main() -> None:
    """Measure each form with each way of registering it, and the choice among kernels."""
    opwright.inline(YAML, CPP)
    torch.set_num_threads(1)
    own, hand = torch.ops.measured, torch.ops.by_hand
    functional, inplace, out = _custom(own.scale.default)
    tensor, target = torch.ones(1), torch.ones(1)
    forms: dict[str, dict[str, Callable[[], object]]] = {
        "functional": {
            "generated": lambda: own.scale.functional(tensor, 1.0),
            "by hand": lambda: hand.scale.default(tensor, 1.0),
            "custom_op": lambda: functional(tensor, 1.0),
        },
        "in-place": {
            "generated": lambda: own.scale_.default(tensor, 1.0),
            "by hand": lambda: hand.scale_.default(tensor, 1.0),
            "custom_op": lambda: inplace(tensor, 1.0),
        },
        "out": {
            "generated": lambda: own.scale.out(tensor, 1.0, out=target),
            "by hand": lambda: hand.scale.out(tensor, 1.0, out=target),
            # PyTorch takes no tensors by name there.
            "custom_op": lambda: out(tensor, 1.0, target),
        },
    }
    print(f"microseconds of a call on one element, medians of {ROUNDS} rounds of {CALLS} calls")
    for form, calls in forms.items():
        times = _measure(calls)
        shown = ", ".join([f"{name} {median(values):.2f}" for name, values in times.items()])
        to_hand, to_custom = [
            median([left / right for left, right in zip(times["generated"], times[other], strict=True)])
            for other in ("by hand", "custom_op")
        ]
        print(f"{form}: {shown}; generated is {to_hand:.2f} of by hand, {to_custom:.2f} of custom_op")
    times = _measure(
        {"one kernel": lambda: own.single.default(tensor, 1.0), "three": lambda: own.chosen.default(tensor, 1.0)}
    )
    added = median([right - left for left, right in zip(*times.values(), strict=True)])
    print(f"choosing among three kernels: {added * 1000:.0f} ns more than {median(times['one kernel']):.2f} us")


if __name__ == "__main__":
    main()
