"""The codes of what the code around the kernels of a backend cannot express: E14xx."""

from __future__ import annotations

from typing import Final

from opwright.source.codes import Code, register

__all__ = ["NO_DTYPE_OVERLOAD"]

NO_DTYPE_OVERLOAD: Final = register(
    Code(
        "E1401",
        "an autocast policy that needs another overload",
        """
        Under the policy `fp32_append_dtype`, an operator calls the overload that takes the same arguments and a dtype
        after them, as `norm.Scalar` calls `norm.ScalarOpt_dtype`. The operator of this entry has no such overload.

            autocast:
            - relu: {policy: fp32_append_dtype}
              ^^^^ choose another policy

        Use `fp32`, which casts the arguments, or `fp32_set_opt_dtype`, which sets an argument of type `ScalarType?`.
        """,
    )
)
