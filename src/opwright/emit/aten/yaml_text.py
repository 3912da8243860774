"""Scalars of YAML in the form that PyYAML's dumper writes, so that files do not need the slow dumper."""

from __future__ import annotations

import math
from functools import cache
from typing import Final

from yaml.emitter import Emitter as PyYamlEmitter
from yaml.resolver import Resolver

#: By a text's first character: the patterns of texts that YAML 1.1 does not read as strings.
_OTHER_FORMS: Final = Resolver.yaml_implicit_resolvers

_ESCAPES: Final = PyYamlEmitter.ESCAPE_REPLACEMENTS

#: The characters that cannot start a plain scalar; those below cannot start it if a blank follows.
_STARTS: Final = frozenset("#,[]{}&*!|>'\"%@`")
_STARTS_BEFORE_BLANK: Final = frozenset("?:-")


def text_scalar(text: str) -> str:
    """A string on one line: plain if YAML reads it back as that string, otherwise in single quotes.

    Texts with other characters than printable ASCII are in double quotes. So are texts with line breaks, because PyYAML
    folds some of them in single quotes.

    >>> print(text_scalar("at::Tensor &"), text_scalar("{}"), text_scalar("1"), text_scalar("é"))
    at::Tensor & '{}' '1' "\\xE9"
    """
    if not (text.isascii() and text.isprintable()):
        return f'"{"".join([_escape(character) for character in text])}"'
    if _is_plain(text):
        return text
    return "'" + text.replace("'", "''") + "'"


name_scalar = cache(text_scalar)
"""The same with a cache, for texts that occur often."""


def scalar(value: str | bool | int | float | None) -> str:
    """The scalar of any value.

    >>> scalar(None), scalar(True), scalar(-1), scalar(1e-5), scalar("no")
    ('null', 'true', '-1', '1.0e-05', "'no'")
    """
    match value:
        case str():
            return name_scalar(value)
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case float():
            return _number(value)


def _number(value: float) -> str:
    if math.isnan(value):
        return ".nan"
    if math.isinf(value):
        return ".inf" if value > 0 else "-.inf"
    text = repr(value)
    # YAML 1.1 reads a number with an exponent as a string unless the number has a point.
    return text if "." in text else text.replace("e", ".0e")


def _is_plain(text: str) -> bool:
    first = text[:1]
    if first in _STARTS or not first or first == " " or text[-1] in " :":
        return False
    if first in _STARTS_BEFORE_BLANK and text[1:2] in ("", " "):
        return False
    if ": " in text or " #" in text or text.startswith(("---", "...")):
        return False
    forms = _OTHER_FORMS.get(first)
    return forms is None or not any(form.match(text) for _, form in forms)


def _escape(character: str) -> str:
    if character in _ESCAPES:
        return "\\" + str(_ESCAPES[character])
    if " " <= character <= "~":
        return character
    code = ord(character)
    if code <= 0xFF:
        return f"\\x{code:02X}"
    return f"\\u{code:04X}" if code <= 0xFFFF else f"\\U{code:08X}"
