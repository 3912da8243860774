"""Prints what the contract of an entry adds to a call of a kernel in Python, with each C++ interface.

The same function is the kernel of two operators. The entry of one says sizes, dtypes and layouts, which C++ checks
before it calls the function; that of the other says nothing. Both are called in turns.

With the stable interface, C++ can call the function as an operator alone. What that takes is measured too: with an
operator whose kernel passes its arguments on to another one as it got them.
"""

from __future__ import annotations

import importlib
from statistics import median
from typing import Any

import opwright
from bench.library.calls import CALLS, processor_microseconds

# Any: mypy does not follow PyTorch here.
torch: Any = importlib.import_module("torch")

_ROUNDS = 15

_YAML = """\
namespace: NAMESPACE
HEAD
operators:
- func: bare(Tensor x, Tensor weight) -> Tensor
  dispatch: {CPU: {python: "bench.library.python_kernels:kernel"}}
- func: checked(Tensor x, Tensor weight) -> Tensor
  dispatch: {CPU: {python: "bench.library.python_kernels:kernel"}}
  dims: {x: "*b d", weight: d, return: "*b d"}
  dtypes: {x: floating, weight: x}
  layout: {x: contiguous, weight: contiguous}
"""

_STABLE_HEAD = 'abi: stable\ntorch: ">=2.13"'
_PASSED_ON = """\
#include <torch/csrc/stable/library.h>
static void pass_on(StableIValue* stack, uint64_t, uint64_t) {
  TORCH_ERROR_CODE_CHECK(torch_call_dispatcher("NAMESPACE::function", "", stack, TORCH_ABI_VERSION));
}
STABLE_TORCH_LIBRARY_FRAGMENT(NAMESPACE, m) {
  m.def("function(Tensor x, Tensor weight) -> Tensor");
  m.def("passed_on(Tensor x, Tensor weight) -> Tensor");
}
STABLE_TORCH_LIBRARY_IMPL(NAMESPACE, CPU, m) {
  m.impl("passed_on", &pass_on);
}
"""


def kernel(x: Any, weight: Any) -> Any:  # noqa: ANN401
    """The kernel: what it computes costs little, and calls none of PyTorch's operators."""
    del weight
    return x


def measured(what: str, operators: list[Any]) -> None:
    """Print what calls of the second of two operators take more than those of the first."""
    x, weight = torch.ones(2, 3), torch.ones(3)
    for operator in operators:
        operator(x, weight)
    pairs = [
        [processor_microseconds(lambda operator=operator: operator(x, weight)) for operator in operators]  # type: ignore[misc]
        for _ in range(_ROUNDS)
    ]
    added = median([longer - shorter for shorter, longer in pairs])
    quickest = [min(times) for times in zip(*pairs, strict=True)]
    print(
        f"{what}: {added:.2f} us more, the median of {_ROUNDS} pairs of {CALLS} calls; "
        f"the quickest {quickest[0]:.2f} us and {quickest[1]:.2f} us"
    )


def main() -> None:
    """Measure both interfaces."""
    torch.set_num_threads(1)
    for abi, head, kernels in (("native", "", ""), ("stable", _STABLE_HEAD, _PASSED_ON)):
        namespace = f"measured_in_python_{abi}"
        yaml = _YAML.replace("NAMESPACE", namespace).replace("HEAD", head)
        opwright.inline(yaml, kernels.replace("NAMESPACE", namespace))
        operators = getattr(torch.ops, namespace)
        measured(f"{abi}, with a contract", [operators.bare.default, operators.checked.default])
        if kernels:
            with torch.library._scoped_library(namespace, "IMPL") as library:
                library.impl("function", kernel, "CPU")
                measured(f"{abi}, passed on", [operators.function.default, operators.passed_on.default])


if __name__ == "__main__":
    main()
