"""The codes of mistakes in library files: E11xx."""

from __future__ import annotations

from typing import Final

from opwright.source.codes import Code, register


def _code(number: int, title: str, explanation: str) -> str:
    return register(Code(f"E11{number:02}", title, explanation))


FILE_SHAPE: Final = _code(
    1,
    "the file is not a library file",
    """
A library file is a list of entries, each of which names its namespace, or a mapping whose key `operators` has the list:

    namespace: acme
    operators:
      - func: scale(Tensor self, float factor) -> Tensor
""",
)
HEAD_KEY: Final = _code(
    2,
    "unknown key in the head of a library file",
    """
The head of a library file says what holds for all its entries. It has a fixed set of keys:

    namespaces: acme
    ^^^^^^^^^^ write `namespace`
    operators: []
""",
)
NO_NAMESPACE: Final = _code(
    3,
    "an operator of a library without a namespace",
    """
Each operator of a library is in a namespace, which the head of the file names for all entries, or an entry for itself:

    - func: scale(Tensor self, float factor) -> Tensor
            ^^^^^ write `acme::scale`, or `namespace: acme` in the head
""",
)
DERIVATIVES_FILE: Final = _code(
    80,
    "the file with the derivatives of a library cannot be read",
    """
The head of a library file names the file with the derivatives of its operators, by a path relative to the library file:

    namespace: acme
    derivatives: derivative.yaml
                 ^^^^^^^^^^^^^^^ there is no such file
    operators: []
""",
)
DERIVATIVE_ELSEWHERE: Final = _code(
    81,
    "a derivative of an operator of another library",
    """
A library has derivatives for its own operators. PyTorch's operators have theirs in PyTorch.

    - name: aten::scale(Tensor self, float factor) -> Tensor
            ^^^^ write `acme::scale`, or no namespace
      self: grad * factor
""",
)
UNEXPORTED_HELPER: Final = _code(
    82,
    "a formula calls a function that PyTorch does not export",
    """
The formulas of PyTorch's own operators call functions such as `pow_backward`, which are inside PyTorch's shared objects
and cannot be called from outside. Write the formula with operators, or write the function yourself, declare it in a
header, and name the header in the head of the library file:

    - name: raise(Tensor self, Scalar exponent) -> Tensor
      self: pow_backward(grad, self, exponent)
            ^^^^^^^^^^^^ write `grad * (exponent * self.pow(exponent - 1)).conj()`
""",
)
