"""Strings of CMake."""

from __future__ import annotations

__all__ = ["string_literal"]


def string_literal(text: str) -> str:
    """The quoted argument with this text, in which nothing is a variable.

    >>> print(string_literal('out/${HOME}'))
    "out/\\${HOME}"
    """
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("$", "\\$")
    return f'"{escaped}"'
