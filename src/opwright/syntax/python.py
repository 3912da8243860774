"""Strings, docstrings and names of Python."""

from __future__ import annotations

import builtins
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


def is_module_name(name: str) -> bool:
    """Whether a text has the form of the name of a module.

    >>> [is_module_name(name) for name in ("acme._C", "acme.", "a-b", "")]
    [True, False, False, False]
    """
    return all(part.isidentifier() for part in name.split("."))


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


#: Names that generated code reads besides its own variables. Many tensors are called `input`, which it never calls.
_TAKEN: Final = frozenset((*keyword.kwlist, *dir(builtins))) - {"input"}


def variable_name(name: str) -> str:
    """Name of the variable of an argument, which hides nothing that generated code names.

    A name that the code itself gives to a variable has blanks, as no argument has.

    >>> [variable_name(name) for name in ("self", "from", "len", "len_", "_torch")]
    ['self', 'from_', 'len_', 'len__', '_torch_']
    >>> variable_name("opwright tensors item")
    'opwright_tensors_item'
    """
    if " " in name:
        return name.replace(" ", "_")
    is_taken = name.rstrip("_") in _TAKEN or name.startswith(("_", "opwright_"))
    return f"{name}_" if is_taken else name
