"""The code of texts that a language has no form for; its number follows those of building."""

from __future__ import annotations

from typing import Final

from opwright.source.codes import Code, register
from opwright.source.diagnostic import Fault, shorten

__all__ = ["NOT_WRITABLE", "not_writable"]

NOT_WRITABLE: Final = register(
    Code(
        "E0619",
        "a text cannot stand where an output needs it",
        """
Some places of an output have no escapes: a header in an `#include`, or a path in a file of Ninja. A text with a line
break or a quote would end there, and what follows it would be code. Opwright wrote nothing.

    error[E0619]: a file of Ninja cannot have the path `ops|more.yaml`

Rename the file, or choose another text.
""",
    )
)


def not_writable(what: str, text: str) -> Fault:
    """The fault of a text that cannot stand somewhere, such as `a file of Ninja cannot have the path`."""
    return Fault.at(NOT_WRITABLE, f"{what} `{shorten(ascii(text)[1:-1])}`")
