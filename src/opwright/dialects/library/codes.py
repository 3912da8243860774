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
