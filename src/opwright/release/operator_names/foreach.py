"""Operators over lists of tensors that derivatives treat specially."""

from __future__ import annotations

from typing import Final

from opwright.release.name_table import Names, NameTable

__all__ = ["DERIVATIVE_OF_INPLACE", "WITHOUT_ALPHA", "WITH_ONE_TENSOR"]

DERIVATIVE_OF_INPLACE: Final = NameTable(
    "Operators over lists that take the derivative of an in-place operator.",
    Names("_foreach_zero_", "`zero_` has no functional form with a derivative."),
    form="overload",
)

WITH_ONE_TENSOR: Final = NameTable(
    "Operators over lists with one tensor argument that applies to all items.",
    Names(
        "_foreach_add.Tensor _foreach_mul.Tensor _foreach_div.Tensor",
        "The tensor holds one number, so its name replaces the argument's in the formula.",
    ),
    form="overload",
)

WITHOUT_ALPHA: Final = NameTable(
    "Operators over lists without the last argument, `alpha`, of the operator that they apply to each item.",
    Names(
        """_foreach_add.Scalar _foreach_add.ScalarList _foreach_add_.Scalar _foreach_add_.ScalarList
        _foreach_sub.Scalar _foreach_sub.ScalarList _foreach_sub_.Scalar _foreach_sub_.ScalarList""",
        "The caller can multiply the numbers by `alpha`, which therefore is 1.",
    ),
    form="overload",
)
