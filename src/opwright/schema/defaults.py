"""Defaults of arguments, and their values."""

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


def check_default(type: Type, text: str, start: int) -> None:
    """Raises SchemaFault if the default `text`, which starts at `start`, is not a value of `type`."""
    check_default_text(text, start)
    if not is_default(type, text):
        message = f"`{text}` is not a default for type `{type.text}`" if text else "no default after `=`"
        raise SchemaFault(codes.BAD_DEFAULT, message, start, start + len(text), help=_default_help(type, text))


def _default_help(type: Type, text: str) -> str:
    """What to write instead of a text that is no default of a type; empty if nothing is known."""
    meant = respelt(type, text)
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
INTEGERS: Final = names_where("is_integer")


def respelt(type: Type, text: str) -> str:
    """What a default of another language is in a schema: `true`, a text without quotes, a list in parentheses."""
    if text.lower() in ("true", "false"):
        return text.capitalize()
    if text.lower() in ("none", "null", "nullptr", "nullopt", "std::nullopt"):
        return "None"
    if type.innermost.text in INTEGERS and re.fullmatch(r"[-+]?\d+\.0*", text):
        return text.partition(".")[0]
    if type.innermost.text == "str" and text.isidentifier():
        return f'"{text}"'
    # PyTorch's generator splits a schema at each comma with a blank.
    return f"[{text[1:-1].replace(', ', ',')}]" if text[:1] == "(" and text[-1:] == ")" else ""
