"""The codes of mistakes in declarations of kernels compiled ahead of time: E0520 and on."""

from __future__ import annotations

from typing import Final

from opwright.source.codes import Code, register


def _code(number: int, title: str, explanation: str) -> str:
    return register(Code(f"E05{number:02}", title, explanation))


AOT_DECLARATION: Final = _code(
    20,
    "a declaration of a native AOT kernel that cannot be read",
    """
From 2.15 on, a file `torch/_native/ops/NAME/aot.py` declares a kernel that is compiled ahead of time. Opwright reads it
without running it, so the values must be literals:

    ATEN_OP = "topk"
    DISPATCH_KEY = "CUDA"
    KERNEL_MODULE = "cutedsl_kernels.py"

and `UNCONDITIONAL = True`, if the kernel is the implementation and not a faster way to the same result.
`--native-aot-ops-dir ""` omits these kernels.
""",
)
AOT_OPERATOR: Final = _code(
    21,
    "a native AOT kernel for no structured operation",
    """
The kernel is tried between `meta` and `impl` of a structured operation, so there must be exactly one of that name. If
overloads of one name are structured separately, the declaration names one of them with its overload.

    ATEN_OP = "gt"          which one: gt.Scalar, gt.Tensor?
    ATEN_OP = "gt.Tensor"   right
""",
)
AOT_TWICE: Final = _code(
    22,
    "two native AOT kernels for one operation and key",
    """
An operation has one stub for a dispatch key, which calls one kernel. Two files declare the same pair.

    error[E0522]: `topk` for CUDA is declared twice

Delete one of the two, or give it another `DISPATCH_KEY`.
""",
)
