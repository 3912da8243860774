"""Small pieces of C++ text."""

from __future__ import annotations

from typing import Final

#: The characters that the literals of generated files spell with an escape.
_ESCAPES: Final = str.maketrans(
    {
        "\\": "\\\\",
        '"': '\\"',
        "\a": "\\a",
        "\b": "\\b",
        "\f": "\\f",
        "\n": "\\n",
        "\v": "\\v",
        "\t": "\\t",
    }
)


def string_literal(text: str) -> str:
    """The C++ literal of a text.

    >>> print(string_literal('str UPLO="L"'))
    "str UPLO=\\"L\\""
    """
    # Translating is slow, and few texts need it.
    if '"' in text or "\\" in text or not text.isprintable():
        text = text.translate(_ESCAPES)
    return f'"{text}"'
