"""Defaults of arguments: those of PyTorch's files with their values, and those that PyTorch's dispatcher parses.

It takes more than PyTorch's files have, such as `int n=None`: a default need not be a value of its type. Source:
what `torch._C.parse_schema` of PyTorch 2.13 accepts, with which the tests compare this.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Final, TypeAlias, final

from opwright.schema.base_types import BASE_TYPE_ROWS, DefaultKind, names_where
from opwright.schema.fault import SchemaFault
from opwright.schema.types import ListType, OptionalType, Type
from opwright.source import codes
from opwright.source.lazy import lazy_pattern

# In C++, a leading zero would make the number octal.
_INTEGER: Final = r"-?(?:0[xX][0-9a-fA-F]+|0|[1-9][0-9]*)"
_NUMBER: Final = r"-?(?:inf|nan|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?)"
_COMPLEX: Final = r"-?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?j"
_WORD: Final = r"(?!None\Z)[A-Za-z_][A-Za-z0-9_]*(?:(?:\.|::)[A-Za-z_][A-Za-z0-9_]*)*"
#: Escapes with the same meaning in C++, where `\x` takes all digits that follow: no third one may follow here.
_ESCAPE: Final = r"\\(?:[abfnrtv\\'\"?]|[0-3]?[0-7]{1,2}|x[0-9a-fA-F]{1,2}(?![0-9a-fA-F]))"
_STRING: Final = rf"\"(?:[^\"\\]|{_ESCAPE})*\"|'(?:[^'\\]|{_ESCAPE})*'"
_BOOL: Final = "True|False"

#: The reductions of losses, which schemas may write by name instead of as an int, and their values.
REDUCTIONS: Final[Mapping[str, int]] = {"Mean": 1}

#: Kind of default -> the form of its values.
_FORMS: Final = {
    kind: lazy_pattern(form)
    for kind, form in {
        "reduction": f"{_INTEGER}|{'|'.join(REDUCTIONS)}",
        "integer": _INTEGER,
        "number": _NUMBER,
        "complex": _COMPLEX,
        "scalar": f"{_NUMBER}|{_INTEGER}|{_BOOL}",
        "boolean": _BOOL,
        "string": _STRING,
        "device": f"{_STRING}|{_WORD}",
        "undefined": r"\{\}",
        "word": _WORD,
    }.items()
}
_KINDS: Final = {row.name: row.default for row in BASE_TYPE_ROWS}
_INTEGER_FORM: Final = lazy_pattern(_INTEGER)

#: The bits of integer types.
_BITS: Final = {row.name: row.bits for row in BASE_TYPE_ROWS if row.bits}

#: The most characters of a default.
_LONGEST: Final = 1_000


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
        return type.size is not None and (text == "{}" or is_default(type.elem, text))
    return _FORMS[_kind(type)].fullmatch(text) is not None and _is_in_range(type, text)


def _kind(type: Type) -> DefaultKind:
    """Kind of default of a type that is no list; types that only the dispatcher has take words."""
    return _KINDS.get(type.text, "word")


def _is_in_range(type: Type, text: str) -> bool:
    """Whether a number fits its type: integers have 64 bits, and other numbers are at most as large as a double."""
    if type.text in _BITS and _INTEGER_FORM.fullmatch(text) is not None:
        limit = 1 << (_BITS[type.text] - 1)
        return -limit <= _integer(text) < limit
    if _kind(type) in ("number", "scalar") and text[-1:].isdigit():
        return math.isfinite(float(text))
    return True


def check_default_text(text: str, start: int) -> None:
    """Raises SchemaFault if the default `text`, which starts at `start`, is too long or has unprintable characters."""
    if len(text) > _LONGEST:
        message = f"a default of {len(text):,} characters, more than {_LONGEST:,}"
        raise SchemaFault(codes.TOO_LARGE, message, start, start + len(text))
    if not text.isprintable():
        message = "the default has an unprintable character"
        at = start + next(index for index, character in enumerate(text) if not character.isprintable())
        help = "in a string, write it as an escape such as `\\n`"
        raise SchemaFault(codes.BAD_DEFAULT, message, at, at + 1, help=help)


#: The texts of values that types can hold, besides None.
_HELD: Final = {
    "int": re.compile(r"[-+]?\d+"),
    "SymInt": re.compile(r"[-+]?\d+"),
    "bool": re.compile("True|False"),
    "Tensor": re.compile(r"(?!)"),
    "float": re.compile(r"[-+]?[\d.]+(e[-+]?\d+)?", re.IGNORECASE),
}


def holds_default(type: Type, text: str) -> bool:
    """Whether a type holds a default that the dispatcher takes for it: a tensor or number is never None.

    >>> from opwright.schema import parse_type
    >>> [holds_default(parse_type("int"), text) for text in ("1", "1.5", "True", "None")]
    [True, False, False, False]
    """
    if isinstance(type, OptionalType):
        # The dispatcher makes a number with a fraction of an integer only where the type is no optional.
        is_integer = type.elem.text == "float" and text.lstrip("+-").isdigit()
        return text == "None" or (holds_default(type.elem, text) and not is_integer)
    if text == "None":
        return type.innermost.text not in _HELD
    held = _HELD.get(type.innermost.text)
    items = text[1:-1].split(",") if text[:1] in ("[", "{") else [text]
    return held is None or all(held.fullmatch(item.strip()) for item in items if item.strip())


def check_default(type: Type, text: str, start: int) -> None:
    """Raises SchemaFault if the default `text`, which starts at `start`, is not a value of `type`."""
    check_default_text(text, start)
    if not is_default(type, text):
        message = f"`{text}` is not a default for type `{type.text}`" if text else "no default after `=`"
        raise SchemaFault(codes.BAD_DEFAULT, message, start, start + len(text), help=_default_help(type, text))


def _default_help(type: Type, text: str) -> str:
    """What to write instead of a text that is no default of a type; empty if nothing is known."""
    meant = _respelt(type, text)
    if meant == "None" and not isinstance(type, OptionalType):
        return f"`None` is a default of `{type.text}?`"
    if text.startswith("{") and isinstance(type.elem if isinstance(type, OptionalType) else type, ListType):
        return "the default of a list is written in brackets, such as `[0,1]`"
    return f"write `{meant}`" if meant and is_default(type, meant) else ""


@final
class NamedConstant:
    """A default that names a constant of PyTorch: `long`, `contiguous_format`."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name: Final = name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NamedConstant) and other.name == self.name

    def __hash__(self) -> int:
        return hash((NamedConstant, self.name))

    def __repr__(self) -> str:
        return f"NamedConstant({self.name!r})"


DefaultItem: TypeAlias = bool | int | float | complex | str | NamedConstant | None
DefaultValue: TypeAlias = DefaultItem | tuple[DefaultItem, ...]


def default_value(type: Type, text: str) -> DefaultValue:
    """Value of the default `text` of an argument of `type`. Lists become tuples.

    >>> from opwright.schema import parse_type
    >>> default_value(parse_type("int[2]"), "1"), default_value(parse_type("float"), "1e-6")
    ((1, 1), 1e-06)
    >>> default_value(parse_type("ScalarType?"), "long")
    NamedConstant('long')
    """
    if text == "None":
        return None
    if isinstance(type, OptionalType):
        return default_value(type.elem, text)
    if not isinstance(type, ListType):
        return _item_value(type, text)
    if text[:1] in ("[", "{"):
        items = text[1:-1]
        return tuple([_item_value(type.elem, item.strip()) for item in items.split(",")]) if items.strip() else ()
    # One value stands for all items of a list with a size.
    return (_item_value(type.elem, text),) * (type.size or 1)


def _item_value(type: Type, text: str) -> DefaultItem:
    """Value of a default that is not a list. The dispatcher takes texts that are no values of their type."""
    if text in ("None", "{}"):
        # `{}` is an undefined tensor.
        return None
    if text[:1] in ("'", '"'):
        return _string(text)
    kind = _kind(type)
    own_kind = kind if _FORMS[kind].fullmatch(text) else ""
    if own_kind in ("word", "device"):
        return NamedConstant(text)
    if own_kind == "number":
        return float(text)
    if text in REDUCTIONS:
        return REDUCTIONS[text]
    if text in ("True", "False"):
        return text == "True"
    if text[:1].isalpha() and own_kind != "scalar":
        return NamedConstant(text)
    if text.endswith("j"):
        return complex(text)
    return _integer(text) if _INTEGER_FORM.fullmatch(text) else float(text)


def _integer(text: str) -> int:
    return int(text, 16 if "x" in text.lower() else 10)


_ESCAPED: Final = lazy_pattern(r"\\(?:([0-7]{1,3})|x([0-9a-fA-F]+)|(.))")
_CONTROLS: Final = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


def _string(text: str) -> str:
    """Value of a string literal, which has the escapes of C++."""

    def character(match: re.Match[str]) -> str:
        octal, hexadecimal, plain = match.groups()
        if plain is not None:
            return _CONTROLS.get(plain, plain)
        return chr(int(octal, 8) if octal else int(hexadecimal, 16))

    return _ESCAPED.sub(character, text[1:-1])


_DISPATCHER_DEFAULTS_NUMBER: Final = lazy_pattern(r"-?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?(j?)")
_DISPATCHER_DEFAULTS_STRING: Final = lazy_pattern(r"(?s:\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*')")
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


#: The names of dtypes in defaults -> the enumerators of C++.
DTYPES: Final = {enumerator.lower(): enumerator for enumerator in _ENUMERATORS.split()} | {
    name: enumerator for enumerator, *names in map(str.split, _OTHER_NAMES.strip().splitlines()) for name in names
}
_INTEGERS: Final = names_where("is_integer")
#: The types whose defaults are single values; optional ones are such types too.
_SINGLE: Final = _INTEGERS | {"str", "Scalar", "bool", "float", "complex"}


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
        meant = _respelt(type, text)
        help = f"write `{meant}`" if meant and _default(type, meant) is not None else help
        raise SchemaFault(codes.BAD_DEFAULT, message, start, start + len(text), help=help)
    return default


def _respelt(type: Type, text: str) -> str:
    """What a default of another language is in a schema: `true`, a text without quotes, a list in parentheses."""
    if text.lower() in ("true", "false"):
        return text.capitalize()
    if text.lower() in ("none", "null", "nullptr", "nullopt", "std::nullopt"):
        return "None"
    if type.innermost.text in _INTEGERS and re.fullmatch(r"[-+]?\d+\.0*", text):
        return text.partition(".")[0]
    if type.innermost.text == "str" and text.isidentifier():
        return f'"{text}"'
    # PyTorch's generator splits a schema at each comma with a blank.
    return f"[{text[1:-1].replace(', ', ',')}]" if text[:1] == "(" and text[-1:] == ")" else ""


def _check_misread(type: Type, text: str, start: int) -> None:
    """Raises SchemaFault for a number of which the dispatcher reads another one."""
    read, help = "", ""
    whole = _MISREAD.fullmatch(text)
    number = _DISPATCHER_DEFAULTS_NUMBER.fullmatch(text)
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
    if _DISPATCHER_DEFAULTS_STRING.fullmatch(text):
        return None if _WRONG_ESCAPE.search(text) else text
    return _number(kind, text)


def _number(kind: str, text: str) -> str | None:
    """Normal form of a number: a whole one has no zeros in front, which C++ would read as octal."""
    match = _DISPATCHER_DEFAULTS_NUMBER.fullmatch(text)
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
    return "int" if type.elem.text in _INTEGERS else type.elem.text


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
