"""Prints what the contract of an entry adds to a call of a kernel in Python, with each C++ interface.

The same function is the kernel of two operators. The entry of one says sizes, dtypes and layouts, which C++ checks
before it calls the function; that of the other says nothing. Both are called in turns.
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


def kernel(x: Any, weight: Any) -> Any:  # noqa: ANN401
    """The kernel: what it computes costs little, and calls none of PyTorch's operators."""
    del weight
    return x


def main() -> None:
    """Measure both interfaces."""
    torch.set_num_threads(1)
    x, weight = torch.ones(2, 3), torch.ones(3)
    for abi, head in (("native", ""), ("stable", 'abi: stable\ntorch: ">=2.13"')):
        namespace = f"measured_in_python_{abi}"
        opwright.inline(_YAML.replace("NAMESPACE", namespace).replace("HEAD", head), "")
        library = getattr(torch.ops, namespace)
        bare, checked = library.bare.default, library.checked.default
        for operator in (bare, checked):
            operator(x, weight)
        pairs = [
            [processor_microseconds(lambda operator=operator: operator(x, weight)) for operator in (bare, checked)]  # type: ignore[misc]
            for _ in range(_ROUNDS)
        ]
        added = median([checked_time - bare_time for bare_time, checked_time in pairs])
        quickest = [min(times) for times in zip(*pairs, strict=True)]
        print(
            f"{abi}: {added:.2f} us more, the median of {_ROUNDS} pairs of {CALLS} calls; "
            f"the quickest {quickest[0]:.2f} us without a contract, {quickest[1]:.2f} with it"
        )


if __name__ == "__main__":
    main()
