"""Strings of Starlark."""

from __future__ import annotations

import json

__all__ = ["string_literal"]


def string_literal(text: str) -> str:
    """The string with this text. Starlark has the escapes of JSON except those of surrogates.

    >>> print(string_literal('a "b"'))
    "a \\"b\\""
    """
    return json.dumps(text, ensure_ascii=False)
