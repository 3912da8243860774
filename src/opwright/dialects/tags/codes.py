"""The codes of mistakes in `tags.yaml`, and in the shape of both it and `native_functions.yaml`: E04xx."""

from __future__ import annotations

from typing import Final

from opwright.source.codes import Code, register


def _code(number: int, title: str, explanation: str) -> str:
    return register(Code(f"E04{number:02}", title, explanation))


FILE_SHAPE: Final = _code(
    1,
    "the file is not a list",
    """
`native_functions.yaml` is a list of entries, `tags.yaml` a list of tags; each item starts with `- `. Write `[]` for a
file without items.

    functions:
    ^ delete the line
    - func: zero(Tensor self) -> Tensor
""",
)
TAG_SHAPE: Final = _code(
    2,
    "wrong entry in tags.yaml",
    """
Each entry of `tags.yaml` names a tag and describes it:

    - tag: core
      desc: |
        Core ATen operators.
""",
)
TAG_DESCRIPTION: Final = _code(
    3,
    "tag without description",
    """
`desc` explains each tag to those who decide whether an operator has it.

    - tag: core
           ^^^^
""",
)
TAG_TWICE: Final = _code(
    4,
    "tag defined twice",
    """
`tags.yaml` has each tag once.

    - tag: core
      desc: Of the core.
    - tag: core
           ^^^^
      desc: Of the very core.
""",
)
