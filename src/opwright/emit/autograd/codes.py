"""The codes of what autograd's emitters find."""

from __future__ import annotations

from typing import Final

from opwright.source.codes import Code, register

__all__ = [
    "FORMULA_IGNORED", "LIST_WITHOUT_DERIVATIVES", "NEEDS_DISPATCH", "NO_TANGENTS", "OUTPUTS_DIFFER",
    "TANGENTS_DIFFER", "UNDIFFERENTIABLE_ARGUMENT", "UNHELD_ARGUMENT", "UNSAVABLE", "VIEW_AMONG_RESULTS",
]  # fmt: skip

UNHELD_ARGUMENT: Final = register(
    Code(
        "E0990",
        "a view's argument cannot be saved",
        """
        Autograd makes a differentiable view again from its base when gradients flow through it, so it saves the
        view's arguments. It can save tensors, integers, booleans, lists of integers, and optional integers and
        tensors, but no arguments of other types.

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
        An operator that autograd knows as a view has one differentiable result: a tensor, or a list of tensors.
        With several it would be unknown which of them the base's gradient comes from.

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
        The node of the backward graph saves the values of the forward call that a backward formula uses. It can
        save tensors, numbers, strings, lists of integers and their optional forms. It cannot save a reference into
        the caller's memory, or a list of tensors that is the result of a function.

            self: unbind_backward(grads, result)
                  ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ uses `result`

        Write the formula with other arguments, or with a property of them, such as `self.sym_sizes()`.
        """,
    )
)
OUTPUTS_DIFFER: Final = register(
    Code(
        "E0993",
        "`output_differentiability` does not fit a function that uses it",
        """
        The in-place and `out` forms of a function use its derivatives, `output_differentiability` included. It must
        have a value for each of their outputs, and cannot declare the output of an in-place function as not
        differentiable, because the version of the written tensor must increase.

            - name: round(Tensor self) -> Tensor
              output_differentiability: [False]
                                         ^^^^^ taken over by `round_`, whose output is its `self`

        Give the form its own entry in `derivatives.yaml`.
        """,
    )
)
UNDIFFERENTIABLE_ARGUMENT: Final = register(
    Code(
        "E0994",
        "a formula for an argument that carries no gradient",
        """
        Gradients belong to tensors and lists of tensors. A formula for an integer, a number or another argument
        cannot be used.

            - name: mul.Scalar(Tensor self, Scalar other) -> Tensor
              other: grad * self
                     ^^^^^^^^^^^ `other` is not a tensor

        Delete the formula, or use the name of the intended tensor.
        """,
    )
)
FORMULA_IGNORED: Final = register(
    Code(
        "E0995",
        "derivatives of a function that is never differentiated",
        """
        Functions whose outputs are booleans, indices or constants are never differentiated, and neither are those
        without a differentiable output. A backward formula for such a function would have no effect.

            - name: equal(Tensor self, Tensor other) -> bool
              self: zeros_like(self)
                    ^^^^^^^^^^^^^^^^ never used

        Delete the formulas.
        """,
    )
)
TANGENTS_DIFFER: Final = register(
    Code(
        "E0996",
        "forward formulas for only some of the outputs",
        """
        A function has forward formulas for each of its differentiable outputs, or for none. Otherwise an output
        without formula would silently have no tangent.

            - name: frexp.Tensor(Tensor self) -> (Tensor mantissa, Tensor exponent)
              output_differentiability: [True, False]
              mantissa: self_t / exponent.exp2()
        """,
    )
)
NO_TANGENTS: Final = register(
    Code(
        "E0997",
        "a forward formula without tangents",
        """
        The tangent of a result follows from the tangents of the inputs (`self_t`), so a forward formula uses at
        least one. Only a function of a single list of tensors may use none, because its helper inspects the list.

            - name: sin(Tensor self) -> Tensor
              result: self_p.cos()
                      ^^^^^^^^^^^^ write `self_t * self_p.cos()`
        """,
    )
)
LIST_WITHOUT_DERIVATIVES: Final = register(
    Code(
        "E0998",
        "an in-place function over lists has no derivatives that fit",
        """
        An in-place function over lists (`_foreach_add_`) uses the derivatives of the function that it applies to
        each item. That function is not in `derivatives.yaml`, or its arguments have other types.

            error[E0998]: `_foreach_scale_` has no derivatives to take over from the function that it repeats

        Give that function an entry in `derivatives.yaml`, and arguments of matching types.
        """,
    )
)
NEEDS_DISPATCH: Final = register(
    Code(
        "E0999",
        "derivatives for a function that is made of differentiable ones",
        """
        Autograd differentiates a function without `dispatch` through the functions that it calls, and would not use
        its own formulas. Give it a `dispatch` section in `native_functions.yaml`, with backends such as `CPU` and
        `CUDA` or with `CompositeExplicitAutograd`, or delete its formulas.

            - func: scale(Tensor self) -> Tensor
              dispatch:
                CompositeExplicitAutograd: scale
        """,
    )
)
