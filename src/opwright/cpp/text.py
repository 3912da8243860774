"""Small pieces of C++ text."""

from __future__ import annotations

from typing import Final

#: Characters that need an escape in a C++ literal.
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
    """The C++ string literal with this text.

    >>> print(string_literal('str UPLO="L"'))
    "str UPLO=\\"L\\""
    """
    # `str.translate` is slow, and few texts need it.
    if '"' in text or "\\" in text or not text.isprintable():
        text = text.translate(_ESCAPES)
    return f'"{text}"'
