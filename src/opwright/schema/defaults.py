"""Defaults of arguments: which texts are allowed, and their values."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Final, TypeAlias, final

from opwright.schema.base_types import BASE_TYPE_ROWS, DefaultKind
from opwright.schema.fault import SchemaFault
from opwright.schema.types import ListType, OptionalType, Type
from opwright.source import codes
from opwright.source.patterns import lazy_pattern

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
    """The kind of default of a type that is no list; types that only the dispatcher has take words."""
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
        raise SchemaFault(codes.BAD_DEFAULT, message, start, start + len(text))


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
    """The value of the default `text` of an argument of `type`. Lists become tuples.

    >>> from opwright.schema import parse_type
    >>> default_value(parse_type("int[2]"), "1"), default_value(parse_type("float"), "1e-6")
    ((1, 1), 1e-06)
    >>> default_value(parse_type("ScalarType?"), "long")
    NamedConstant('long')
    """
    if isinstance(type, OptionalType):
        return None if text == "None" else default_value(type.elem, text)
    if not isinstance(type, ListType):
        return _item_value(type, text)
    if text[:1] in ("[", "{"):
        items = text[1:-1]
        return tuple([_item_value(type.elem, item.strip()) for item in items.split(",")]) if items.strip() else ()
    # One value stands for all items of a list with a size.
    return (_item_value(type.elem, text),) * (type.size or 1)


def _item_value(type: Type, text: str) -> DefaultItem:
    """The value of a default that is not a list."""
    match _kind(type):
        case "integer" | "reduction":
            return REDUCTIONS[text] if text in REDUCTIONS else _integer(text)
        case "number":
            return float(text if text not in ("True", "False") else text == "True")
        case "complex":
            return complex(text)
        case "boolean":
            return text == "True" or text.strip("-0.") not in ("", "False")
        case "scalar":
            return _scalar(text)
        case "undefined":
            return None  # `{}`, an undefined tensor.
    return _string(text) if text[:1] in ("'", '"') else NamedConstant(text)


def _integer(text: str) -> int:
    if _INTEGER_FORM.fullmatch(text) is None:
        # The dispatcher takes other numbers too, and truth values.
        return int(text == "True" if text in ("True", "False") else float(text))
    return int(text, 16 if "x" in text.lower() else 10)


def _scalar(text: str) -> DefaultItem:
    if text in ("True", "False"):
        return text == "True"
    return _integer(text) if re.fullmatch(_INTEGER, text) else float(text)


_ESCAPED: Final = lazy_pattern(r"\\(?:([0-7]{1,3})|x([0-9a-fA-F]+)|(.))")
_CONTROLS: Final = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


def _string(text: str) -> str:
    """The value of a string literal, which has the escapes of C++."""

    def character(match: re.Match[str]) -> str:
        octal, hexadecimal, plain = match.groups()
        if plain is not None:
            return _CONTROLS.get(plain, plain)
        return chr(int(octal, 8) if octal else int(hexadecimal, 16))

    return _ESCAPED.sub(character, text[1:-1])
