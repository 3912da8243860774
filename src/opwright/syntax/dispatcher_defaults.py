"""Defaults that PyTorch's dispatcher parses.

It takes more than PyTorch's files have, such as `int n=None`: a default need not be a value of its type. Source:
what `torch._C.parse_schema` of PyTorch 2.13 accepts, with which the tests compare this.
"""

from __future__ import annotations

import math
import re
from typing import Final

from opwright.schema.defaults import DTYPES, INTEGERS, check_default_text, respelt
from opwright.schema.fault import SchemaFault
from opwright.schema.types import ListType, OptionalType, Type
from opwright.source import codes
from opwright.source.lazy import lazy_pattern

_NUMBER_FORM: Final = lazy_pattern(r"-?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?(j?)")
_STRING_FORM: Final = lazy_pattern(r"(?s:\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*')")
#: A wrong escape: the dispatcher has those of C++ but the hexadecimal ones, and takes three octal digits.
_WRONG_ESCAPE: Final = lazy_pattern(r"\\(?![\\'\"abfnrtv]|[0-3][0-7]{2})\\?.")
#: Whole numbers of which the dispatcher reads only the first digits.
_MISREAD: Final = lazy_pattern(r"(-?[0-9]{1,18})[xE][0-9a-fA-F]{1,15}")
_DEVICE: Final = lazy_pattern(
    r"['\"](?:cpu|cuda|ipu|xpu|mkldnn|opengl|opencl|ideep|hip|ve|fpga|maia|xla|lazy|vulkan|mps|meta|hpu|mtia"
    r"|privateuseone)(?::(?:0|[1-9][0-9]*))?['\"]"
)
_WORDS: Final = frozenset(("True", "False", "None"))
_CONSTANTS: Final = frozenset(("float", "long", "strided", "Mean", "contiguous_format"))
#: The types whose defaults are single values; optional ones are such types too.
_SINGLE: Final = INTEGERS | {"str", "Scalar", "bool", "float", "complex"}


def dispatcher_default(type: Type, text: str, start: int) -> str:
    """Normal form of the default `text`, which starts at `start`. Raises SchemaFault if the dispatcher refuses it.

    >>> from opwright.schema import parse_type
    >>> dispatcher_default(parse_type("int[]"), "[007, -1]", 0), dispatcher_default(parse_type("int"), "None", 0)
    ('[7, -1]', 'None')
    """
    check_default_text(text, start)
    default = _default(type, text)
    if default is None:
        _check_misread(type, text, start)
        message = f"`{text}` is not a default for type `{type.text}`" if text else "no default after `=`"
        is_list = isinstance(type, ListType) and _item_kind(type) not in _ITEMS
        help = "the dispatcher knows defaults of lists of numbers and booleans alone" if is_list and text else ""
        meant = respelt(type, text)
        help = f"write `{meant}`" if meant and _default(type, meant) is not None else help
        raise SchemaFault(codes.BAD_DEFAULT, message, start, start + len(text), help=help)
    return default


def _check_misread(type: Type, text: str, start: int) -> None:
    """Raises SchemaFault for a number of which the dispatcher reads another one."""
    read, help = "", ""
    whole = _MISREAD.fullmatch(text)
    number = _NUMBER_FORM.fullmatch(text)
    if whole is not None:
        is_hexadecimal = "x" in text
        read = "0" if is_hexadecimal else whole.group(1)
        help = f"write `{int(text, 16) if is_hexadecimal else int(float(text))}`"
    elif type.innermost.text == "complex" and number is not None and not number.group(3):
        read, help = f"{text[:-1]}j", "the default of a complex number ends with `j`"
    if read:
        message = f"the dispatcher reads `{text}` as {read}"
        raise SchemaFault(codes.BAD_DEFAULT, message, start, start + len(text), help=help)


def _default(type: Type, text: str) -> str | None:
    """Normal form of a default; None if it is not one."""
    if isinstance(type, OptionalType):
        return _single(type.elem.text, "Optional", text)
    if isinstance(type, ListType):
        return _list(type, text)
    if type.text in ("Tensor", "Generator", "Quantizer"):
        return text if text == "None" else None
    if type.text == "Device":
        return text if _DEVICE.fullmatch(text) else None
    return _single(type.text, type.text, text) if type.text in _SINGLE else None


def _single(type: str, kind: str, text: str) -> str | None:
    """Normal form of a value that is not a list."""
    if text in _WORDS or text in _CONSTANTS or (type == "ScalarType" and text in DTYPES):
        return text
    if _STRING_FORM.fullmatch(text):
        return None if _WRONG_ESCAPE.search(text) else text
    return _number(kind, text)


def _number(kind: str, text: str) -> str | None:
    """Normal form of a number: a whole one has no zeros in front, which C++ would read as octal."""
    match = _NUMBER_FORM.fullmatch(text)
    if match is None:
        return None
    digits, exponent, imaginary = match.groups("")
    if imaginary or kind == "complex":
        # The dispatcher takes the last character of a complex number for `j`, also where it is a digit.
        return text if imaginary else None
    if kind != "float" and not exponent and "." not in digits:
        number = int(text)
        return str(number) if -(1 << 63) <= number < 1 << 63 else None
    if kind != "float" and "E" in exponent and "." not in digits:
        # The dispatcher stops at `E` in a whole number.
        return None
    value = float(text)
    is_subnormal = abs(value) < _SMALLEST and any(digit in digits for digit in "123456789")
    return text if math.isfinite(value) and not is_subnormal else None


_SMALLEST: Final = 2.0**-1022


def _item_kind(type: ListType) -> str:
    """Type as which the dispatcher reads the items of a list."""
    return "int" if type.elem.text in INTEGERS else type.elem.text


def _list(type: ListType, text: str) -> str | None:
    """Normal form of a list, or of one value for all items of a list with a size."""
    elem = _item_kind(type)
    if elem not in _ITEMS:
        return None
    if type.size is not None and text[:1] != "[" and text not in DTYPES and text not in _CONSTANTS:
        return _item(type.elem.text, elem, text)
    if text[:1] != "[" or text[-1:] != "]":
        return None
    texts = text[1:-1].split(",") if text[1:-1].strip() else []
    items = [_item(type.elem.text, elem, item.strip()) for item in texts]
    return None if None in items else f"[{', '.join([item for item in items if item is not None])}]"


_WHOLE: Final = re.compile(r"-?[0-9]+")
#: Elements of lists that have defaults -> the form of an item.
_ITEMS: Final = {
    "int": re.compile(rf"{_WHOLE.pattern}|(?!True|False|None)[A-Za-z]\w*"),
    "bool": re.compile("True|False"),
    "float": re.compile(r"-?[0-9.][0-9.eE+-]*"),
    "complex": re.compile(r"-?[0-9.].*j"),
}


def _item(type: str, kind: str, text: str) -> str | None:
    return _single(type, kind, text) if _ITEMS[kind].fullmatch(text) else None
