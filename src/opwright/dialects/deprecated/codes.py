"""The codes of mistakes in `deprecated.yaml`: E1001 to E1008."""

from __future__ import annotations

from typing import Final

from opwright.source.codes import Code, register

FILE_SHAPE: Final = register(
    Code(
        "E1001",
        "the file of deprecated signatures is not a list of entries",
        """
        `deprecated.yaml` is a list of entries with two fields: the signature that Python still accepts, and how it
        calls PyTorch's current function:

            - name: add(Tensor self, Scalar alpha, Tensor other) -> Tensor
              aten: add(self, other, alpha)
        """,
    )
)
ENTRY_SHAPE: Final = register(
    Code(
        "E1002",
        "an entry lacks `name` or `aten`",
        """
        An entry of `deprecated.yaml` has two fields, and both are text: `name` is the deprecated signature, `aten`
        the call of the current function with its arguments.

            - name: add(Tensor self, Scalar alpha, Tensor other) -> Tensor
              aten: add(self, other, alpha)
        """,
    )
)
UNKNOWN_FIELD: Final = register(
    Code(
        "W1003",
        "unknown field of a deprecated signature",
        """
        Entries of `deprecated.yaml` have the fields `name` and `aten`. Any other has no effect, so it is probably
        misspelt.

            - name: add(Tensor self, Scalar alpha, Tensor other) -> Tensor
              aten: add(self, other, alpha)
              out: True
              ^^^ no such field
        """,
    )
)
CALL_SHAPE: Final = register(
    Code(
        "E1004",
        "`aten` is not a call",
        """
        `aten` is the call of a function: its name, and in parentheses the arguments of the signature in the order
        of the C++ function, separated by a comma and one blank.

            aten: add_out(out, self, other, alpha)

        An overload with `out` is called by its C++ name, `add_out`, and takes `out` first.
        """,
    )
)
UNKNOWN_VALUE: Final = register(
    Code(
        "E1005",
        "the call passes something that the signature does not have",
        """
        The call passes arguments of the deprecated signature, by name. The only constant that it may pass is `1`,
        for a number that the deprecated signature does not have.

            - name: add(Tensor self, Scalar alpha, Tensor other) -> Tensor
              aten: add(self, others, alpha)
                              ^^^^^^ did you mean `other`?
        """,
    )
)
UNKNOWN_OPERATOR: Final = register(
    Code(
        "E1006",
        "the function that a deprecated signature calls does not exist",
        """
        The call names a function that Python has: one of `native_functions.yaml` that gets a Python binding.

            aten: ad(self, other, alpha)
                  ^^ did you mean `add`?
        """,
    )
)
NO_MATCH: Final = register(
    Code(
        "E1007",
        "no overload takes what a deprecated signature passes",
        """
        The types of the passed values, with their annotations, must be those of an overload's arguments in their
        order. Arguments that are not passed need a default. Returns must match too, with names and annotations. A
        note for each overload says why it does not match.

            error[E1007]: no overload of `add` takes (Tensor self, Tensor alpha)
              = note: `add.Tensor` takes `Scalar alpha` where `Tensor other` is passed
        """,
    )
)
