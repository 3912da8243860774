"""The codes of mistakes in declared outputs: E1150 and on."""

from __future__ import annotations

from typing import Final

from opwright.source.codes import Code, register


def _code(number: int, title: str, explanation: str) -> str:
    return register(Code(f"E11{number:02}", title, explanation))


OUTPUT_SYNTAX: Final = _code(
    50,
    "an expression that cannot be read",
    """
Declared outputs are expressions in a part of Python: integers, arguments of the operator, arithmetic with `+`, `-`,
`*`, `//` and `%`, comparisons, `and`, `or`, `not`, `a if condition else b`, lists, items and slices of lists, the
members of tensors such as `self.size(0)`, and calls such as `broadcast(self, other)`.

    outputs: "[self.size(0) / 2]"
               ^^^^^^^^^^^^^^^^ sizes are integers: write `//`

Division with `/`, powers, strings, comprehensions and everything else that Python has is not part of it.
""",
)
OUTPUT_NAME: Final = _code(
    51,
    "an expression names an unknown value",
    """
An expression may name the arguments of the operator and dtypes such as `float32`. Out arguments have no value yet.

    - func: scale(Tensor self, float factor) -> Tensor
      outputs: like(slef)
                    ^^^^ did you mean `self`?
""",
)
OUTPUT_FUNCTION: Final = _code(
    52,
    "an expression calls an unknown function",
    """
The function, or the member of a tensor, is not part of the language of declared outputs.

    outputs: brodcast(self, other)
             ^^^^^^^^ did you mean `broadcast`?

Tensors have `size(dim)`, `sizes()`, `dim()`, `numel()`, `dtype` and `device`.
""",
)
OUTPUT_CALL: Final = _code(
    53,
    "a function is called with the wrong arguments",
    """
The call has too few or too many arguments, or one that the function does not know.

    outputs: reduce(self)
             ^^^^^^^^^^^^ `reduce` takes (sizes, dim, keepdim=False)
""",
)
OUTPUT_TYPE: Final = _code(
    54,
    "an expression of the wrong type",
    """
A value does not have the type that its place needs, by the schema of the operator: the size of something that is no
tensor, the dtype of an integer, a dtype where a size is needed.

    - func: scale(Tensor self, float factor) -> Tensor
      outputs: "[factor.size(0)]"
                 ^^^^^^ a number, not a tensor

The index of a dimension must be an `int`: a `SymInt` may be unknown while PyTorch traces the operator. The right side
of `//` and `%` is not the number 0.
""",
)
OUTPUT_OPTIONAL: Final = _code(
    55,
    "an expression uses a value that may be None",
    """
The argument is optional, and the expression does not say what holds without it.

    - func: affine(Tensor self, Tensor? bias) -> Tensor
      outputs: "[self.size(0), bias.size(0)]"
                               ^^^^ may be None

Give another value with `or`, as in `(bias or self).size(0)`, or decide:
`bias.size(0) if bias is not None else self.size(1)`.
""",
)
OUTPUT_FIELD: Final = _code(
    56,
    "a declared output with a wrong field",
    """
A declared output is an expression, or a mapping with the fields `size` or `like`, and if needed `dtype` and `device`.

    outputs: {sise: self.sizes(), dtype: bool}
              ^^^^ did you mean `size`?

It has either `size` or `like`: `like: self` stands for the size, the dtype, the device and the memory format of a
tensor.
""",
)
OUTPUT_COUNT: Final = _code(
    57,
    "declared outputs do not match the results",
    """
Each result of the schema needs one declared output, in its order or by its name.

    - func: min_max(Tensor self) -> (Tensor min, Tensor max)
      outputs: like(self)
               ^^^^^^^^^^ 1 output for 2 results

Several results are a list, as in `[like(self), like(self)]`, or a mapping of their names:
`{min: like(self), max: like(self)}`.
""",
)
OUTPUT_SCHEMA: Final = _code(
    58,
    "declared outputs contradict the schema",
    """
Outputs can be declared only for operators whose results are new tensors. In-place operators return their argument,
views share the memory of one, and numbers have no size.

    - func: scale_(Tensor(a!) self, float factor) -> Tensor(a!)
      outputs: like(self)
      ^^^^^^^ `scale_` makes no new tensor

Declare the outputs at the functional or the out overload; they hold for all overloads of the operation.
""",
)
OUTPUT_TWICE: Final = _code(
    59,
    "declared outputs beside another shape function",
    """
The outputs of an operation are declared once: at its functional or at its out overload. An operator with declared
outputs has no kernel for `Meta`, because the declaration takes its place, and a composite operator has the outputs of
the operators that it calls.

    - func: scale(Tensor self, float factor) -> Tensor
      outputs: like(self)
      ^^^^^^^ `scale` has a Meta kernel
      dispatch:
        CPU: scale_cpu
        Meta: scale_meta

Keep one of the two.
""",
)
