"""The codes of mistakes in keys that plug-ins declare, and in files that plug-ins read: E2330 to E2349."""

from __future__ import annotations

from typing import Final

from opwright.source.codes import Code, register


def _code(number: int, title: str, explanation: str) -> str:
    return register(Code(f"E23{number:02}", title, explanation))


VALUE_TYPE: Final = _code(
    30,
    "a value of a plug-in's key has another type",
    """
A plug-in declares the keys that it reads, each with the type of its values:

    ExtraKey("profiled", bool, where="backend entry", default=True)

    - add.Tensor: {profiled: sometimes}
                             ^^^^^^^^^ expected a boolean
""",
)
UNKNOWN_WORD: Final = _code(
    31,
    "a plug-in's key does not allow this word",
    """
Some keys have one of a few words as their value:

    ExtraKey("reduction", Choice("sum", "mean"), where="backend entry")

    - mse_loss: {reduction: mena}
                            ^^^^ did you mean `mean`?
""",
)
UNKNOWN_KEY: Final = _code(
    32,
    "unknown key in a value of a plug-in's key",
    """
The value of a plug-in's key may be a mapping, whose keys the plug-in declares too:

    ExtraKey("result", Fields(ExtraKey("size", str), ExtraKey("dtype", str)), where="backend entry")

    - add.Tensor: {result: {sise: self}}
                            ^^^^ did you mean `size`?
""",
)
MISSING_KEY: Final = _code(
    33,
    "a plug-in's key is missing",
    """
A plug-in may require a key, in an entry or in the value of another key:

    ExtraKey("result", Fields(ExtraKey("size", str, is_required=True), ExtraKey("dtype", str)), where="backend entry")

    - add.Tensor: {result: {dtype: self}}
                           ^^^^^^^^^^^^^ has no `size`
""",
)
CPP_TEXT: Final = _code(
    34,
    "a value of a plug-in's key is not the C++ that it should be",
    """
A plug-in may declare that a value is a C++ identifier, a name, an expression, or code. A name has only letters, digits,
`_` and `::`, and brackets and literals of an expression are closed:

    ExtraKey("size", CPP_EXPRESSION, where="backend entry")

    - add.Tensor: {size: "broadcast(self.sizes()"}
                                   ^ is not closed
""",
)
KEY_TAKEN: Final = _code(
    35,
    "a plug-in declares a key that exists",
    """
A key of a plug-in says where it stands, and has another name than the keys of Opwright at the same place:

    ExtraKey("structured", bool, where="backend entry")
             ^^^^^^^^^^^^ backend entries have this option already
""",
)
TWO_READERS: Final = _code(
    40,
    "two plug-ins read a file",
    """
Each file is read by one plug-in at most, but several recognise it:

    BackendReader("acme", lambda root: root.get("acme_version") is not None, rewrite_acme)
    BackendReader("every", lambda root: True, rewrite_every)
                           ^^^^^^^^^^^^^^^^^ recognises the file too
""",
)
