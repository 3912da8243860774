"""The codes of what autograd's emitters find."""

from __future__ import annotations

from typing import Final

from opwright.source.codes import Code, register

__all__ = ["UNHELD_ARGUMENT", "UNSAVABLE", "VIEW_AMONG_RESULTS"]

UNHELD_ARGUMENT: Final = register(
    Code(
        "E0990",
        "a view's argument cannot be kept",
        """
        A differentiable view is made again from its base when gradients flow through it, so its arguments are kept
        until then. Kept are tensors, integers, truth values, lists of integers and the optional forms of integers
        and tensors. An argument of another type would be gone by then, or has no rule by which to keep it.

            error[E0990]: view `narrow_by` keeps no argument of type `at::Scalar`

        Give the view an overload with arguments of those types.
        """,
    )
)
VIEW_AMONG_RESULTS: Final = register(
    Code(
        "E0991",
        "a view with several differentiable results",
        """
        An operator that autograd knows as a view has one differentiable result: a tensor, or a list of tensors. With
        several it is not known which of them the base's gradient comes from.

            error[E0991]: view `split_pair` has 2 differentiable results

        Name the differentiable one with `output_differentiability` in `derivatives.yaml`.
        """,
    )
)
UNSAVABLE: Final = register(
    Code(
        "E0992",
        "a formula uses a value that cannot be saved",
        """
        What a backward formula uses of the forward call is saved in the node of the backward graph. Tensors, numbers,
        strings, lists of integers and their optional forms can be; a reference into memory of the caller cannot, and
        neither can a list of tensors that is the result of a function.

            self: unbind_backward(grads, result)
                  ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ uses `result`

        Write the formula with other arguments, or with a fact about them, such as `self.sym_sizes()`.
        """,
    )
)
