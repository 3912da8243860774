"""The codes of what PyTorch's stable C++ API cannot express: E116x."""

from __future__ import annotations

from typing import Final

from opwright.source.codes import Code, register


def _code(number: int, title: str, explanation: str) -> str:
    return register(Code(f"E11{number:02}", title, explanation))


STABLE_TYPE: Final = _code(
    60,
    "a type that the stable C++ API lacks",
    """
Kernels of a library with `abi: stable` are registered through PyTorch's stable C++ API, which has no C++ type for
numbers of any type (`Scalar`), dimension names, storages, streams and lists of optional tensors.

    abi: stable
    operators:
      - func: acme::fill(Tensor self, Scalar value) -> Tensor
                                      ^^^^^^^^^^^^ write `float value`
        dispatch:
          CPU: fill_cpu

Take a `float` or an `int` instead of a `Scalar`, or use `abi: native`.
""",
)
STABLE_FIELD: Final = _code(
    61,
    "a field that the stable C++ API cannot serve",
    """
PyTorch's stable C++ API registers schemas and kernels, and nothing else. Structured kernels, derivatives, autocast,
batching rules, views and synthesized overloads need all of PyTorch's C++ API.

    abi: stable
    operators:
      - func: acme::scale(Tensor self, float factor) -> Tensor
        autocast: fp32
        ^^^^^^^^ needs `abi: native`
        dispatch:
          CPU: scale_cpu

Remove the field, or use `abi: native`. From Python, `torch.library.register_autograd` registers derivatives.
""",
)
STABLE_RELEASE: Final = _code(
    62,
    "the stable C++ API of an older release lacks this",
    """
The binary of a library with `abi: stable` serves the oldest release in its range, from 2.10 on, and all later ones. It
can use only what the oldest one has: tags came with 2.12, generators of random numbers with 2.13.

    torch: ">=2.10"
    abi: stable
    operators:
      - func: acme::noise(Tensor self, *, Generator? generator=None) -> Tensor
                                          ^^^^^^^^^^^^^^^^^^^^^^^^^^ needs `torch: ">=2.13"`
        dispatch:
          CPU: noise_cpu
""",
)
