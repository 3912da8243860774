"""Strings of Meson."""

from __future__ import annotations

from typing import Final

__all__ = ["string_literal"]

_CONTROLS: Final = {chr(code): f"\\x{code:02x}" for code in (*range(32), 127)}
_TABLE: Final = str.maketrans({"\\": "\\\\", "'": "\\'", **_CONTROLS})


def string_literal(text: str) -> str:
    r"""The string with this text.

    >>> print(string_literal("it's\nhere"))
    'it\'s\x0ahere'
    """
    return f"'{text.translate(_TABLE)}'"
