"""Strings, docstrings and names of Python."""

from __future__ import annotations

import json
import keyword
from typing import Final

#: Removes the characters that lay out the lines of a docstring.
_LAYOUT: Final = str.maketrans("", "", "\n\t")


def string_literal(text: str) -> str:
    """Expression of a text, with double quotes, in ASCII.

    >>> print(string_literal('a "b"'))
    "a \\"b\\""
    """
    if text.isascii():
        return json.dumps(text)
    # JSON has two escapes for a character of more than 16 bits, which are two characters for Python.
    escapes = [json.dumps(part)[1:-1] if part <= "\uffff" else f"\\U{ord(part):08x}" for part in text]
    return f'"{"".join(escapes)}"'


def docstring_text(text: str) -> str:
    r"""Text of lines of a docstring with three double quotes, which end in a line of their own.

    >>> print(docstring_text("C:\\new"))
    C:\\new
    """
    escaped = text.replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    if escaped.translate(_LAYOUT).isprintable():
        return escaped
    return "".join([_character_text(character) for character in escaped])


def _character_text(character: str) -> str:
    """A character of a line, or its escape if an editor does not show it, or a file must not have it."""
    if character in "\n\t" or character.isprintable():
        return character
    return character.encode("unicode_escape").decode("ascii")


def variable_name(name: str) -> str:
    """Name of a variable, for a name that may be a keyword.

    >>> variable_name("self"), variable_name("from")
    ('self', 'from_')
    """
    return f"{name}_" if keyword.iskeyword(name) else name
