"""Defaults of arguments as PyTorch's dispatcher parses them.

It takes more than PyTorch's own files have, such as `int n=None`: a default need not be a value of its type. Source:
what `torch._C.parse_schema` of PyTorch 2.13 accepts, with which the tests compare this.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Final

from opwright.schema.base_types import names_where
from opwright.schema.defaults import check_default_text
from opwright.schema.fault import SchemaFault
from opwright.schema.types import ListType, OptionalType, Type
from opwright.source import codes
from opwright.source.patterns import lazy_pattern

_NUMBER: Final = lazy_pattern(r"-?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?(j?)")
_STRING: Final = lazy_pattern(r"(?s:\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*')")
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
#: The enumerators of `at::ScalarType` whose names in lower case are defaults.
_ENUMERATORS: Final = """
    Bool Byte Char Short Int Long Half Float Double BFloat16
    Int1 Int2 Int3 Int4 Int5 Int6 Int7 UInt1 UInt2 UInt3 UInt4 UInt5 UInt6 UInt7 UInt16 UInt32 UInt64
    QInt8 QInt32 QUInt8 QUInt2x4 QUInt4x2 Bits8 Bits16 Bits1x8 Bits2x4 Bits4x2
    Float4_e2m1fn_x2 Float8_e4m3fn Float8_e4m3fnuz Float8_e5m2 Float8_e5m2fnuz Float8_e8m0fnu
"""
#: Other names of dtypes in defaults: an enumerator, then its names.
_OTHER_NAMES: Final = """
    Char int8
    Short int16
    Int int32
    Long int64
    Byte uint8
    Half float16
    Float float32
    Double float64
    ComplexHalf chalf complex32
    ComplexFloat cfloat complex64
    ComplexDouble cdouble complex128
"""


def _dtypes() -> Mapping[str, str]:
    others = [line.split() for line in _OTHER_NAMES.strip().splitlines()]
    named = {name: enumerator for enumerator, *names in others for name in names}
    return {enumerator.lower(): enumerator for enumerator in _ENUMERATORS.split()} | named


#: The names of dtypes in defaults -> the enumerators of C++.
DTYPES: Final = _dtypes()
_INTEGERS: Final = names_where("is_integer")
#: The types whose defaults are single values; optional ones are such types too.
_SINGLE: Final = _INTEGERS | {"str", "Scalar", "bool", "float", "complex"}


def dispatcher_default(type: Type, text: str, start: int) -> str:
    """The normal form of the default `text`, which starts at `start`. Raises SchemaFault if the dispatcher refuses it.

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
        raise SchemaFault(codes.BAD_DEFAULT, message, start, start + len(text), help=help)
    return default


def _check_misread(type: Type, text: str, start: int) -> None:
    """Raises SchemaFault for a number of which the dispatcher reads another one."""
    read, help = "", ""
    whole = _MISREAD.fullmatch(text)
    number = _NUMBER.fullmatch(text)
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
    """The normal form of a default; None if it is not one."""
    if isinstance(type, OptionalType):
        return _single(type.elem.text, "Optional", text)
    if isinstance(type, ListType):
        return _list(type, text)
    if type.text in ("Tensor", "Generator"):
        return text if text == "None" else None
    if type.text == "Device":
        return text if _DEVICE.fullmatch(text) else None
    return _single(type.text, type.text, text) if type.text in _SINGLE else None


def _single(type: str, kind: str, text: str) -> str | None:
    """The normal form of a value that is not a list."""
    if text in _WORDS or text in _CONSTANTS or (type == "ScalarType" and text in DTYPES):
        return text
    if _STRING.fullmatch(text):
        return None if _WRONG_ESCAPE.search(text) else text
    return _number(kind, text)


def _number(kind: str, text: str) -> str | None:
    """The normal form of a number: a whole one has no zeros in front, which C++ would read as octal."""
    match = _NUMBER.fullmatch(text)
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
    """The type as which the dispatcher reads the items of a list."""
    return "int" if type.elem.text in _INTEGERS else type.elem.text


def _list(type: ListType, text: str) -> str | None:
    """The normal form of a list, or of one value for all items of a list with a size."""
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
