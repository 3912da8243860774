"""Which text may stand as the default of an argument."""

from __future__ import annotations

import re
from typing import Final

from opwright.schema import codes
from opwright.schema.fault import SchemaFault
from opwright.schema.types import ListType, OptionalType, Type

_INTEGER: Final = r"-?(?:0[xX][0-9a-fA-F]+|[0-9]+)"
_NUMBER: Final = r"-?(?:inf|nan|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?)"
_WORD: Final = r"[A-Za-z_][A-Za-z0-9_]*(?:(?:\.|::)[A-Za-z_][A-Za-z0-9_]*)*"
_STRING: Final = r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'"
_BOOL: Final = "True|False"

#: The values that reductions of losses take, which schemas write by name where the type is int.
_REDUCTIONS: Final = "None|Mean|Sum"

#: What a value of a base type looks like; a type that is not listed takes any word.
_FORMS: Final = {
    name: re.compile(form)
    for name, form in {
        "int": f"{_INTEGER}|{_REDUCTIONS}",
        "SymInt": _INTEGER,
        "DeviceIndex": _INTEGER,
        "float": _NUMBER,
        "Scalar": f"{_NUMBER}|{_INTEGER}|{_BOOL}",
        "bool": _BOOL,
        "SymBool": _BOOL,
        "str": _STRING,
        "Device": f"{_STRING}|{_WORD}",
        "Tensor": r"\{\}",
    }.items()
}
_ANY_WORD: Final = re.compile(f"{_WORD}|{_INTEGER}")


def is_default(type: Type, text: str) -> bool:
    """Whether `text` is a value of `type`.

    >>> from opwright.schema import parse_type
    >>> is_default(parse_type("int[2]"), "[0,1]"), is_default(parse_type("int"), "abc")
    (True, False)
    """
    if isinstance(type, OptionalType):
        return text == "None" or is_default(type.elem, text)
    if isinstance(type, ListType):
        if text.startswith("[") and text.endswith("]"):
            items = text[1:-1]
            return not items or all(is_default(type.elem, item.strip()) for item in items.split(","))
        return type.size is not None and is_default(type.elem, text)
    return _FORMS.get(type.text, _ANY_WORD).fullmatch(text) is not None


def check_default(type: Type, text: str, start: int) -> None:
    """SchemaFault where the default `text`, which stands at `start`, is no value of `type`."""
    if not is_default(type, text):
        message = f"`{text}` is no default for type `{type.text}`" if text else "no default after `=`"
        raise SchemaFault(codes.BAD_DEFAULT, message, start, start + len(text))
