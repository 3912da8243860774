"""Defaults of schemas, as C++ expressions."""

from __future__ import annotations

from functools import cache
from typing import Final

from opwright.convention.shared_types import held_type, is_held_list
from opwright.schema.defaults import DTYPES
from opwright.schema.types import BaseType, ListType, OptionalType, Type

#: Constants of the schema language and their C++ spelling.
WORDS: Final = {
    "True": "true",
    "False": "false",
    "None": "::std::nullopt",
    "Mean": "at::Reduction::Mean",
    "[]": "{}",
    "{}": "{}",
    "contiguous_format": "c10::MemoryFormat::Contiguous",
    "long": "at::kLong",
}


def default_expression(text: str, type: Type, *, symint: bool) -> str:
    """The C++ expression of the default `text` of an argument of `type`.

    >>> from opwright.schema import parse_type
    >>> default_expression("[0,1]", parse_type("int[]"), symint=False)
    '{0,1}'
    >>> default_expression("0", parse_type("SymInt[2]"), symint=True)
    'c10::SymInt(0)'
    """
    return _expression(text, type, symint)


@cache
def _expression(text: str, type: Type, symint: bool) -> str:
    if isinstance(type, OptionalType):
        if text == "None":
            return "{}" if type.elem.text == "Tensor" else WORDS["None"]
        return _expression(text, type.elem, symint)
    if isinstance(type, ListType):
        if is_held_list(type):
            return _held_list(text, type)
        if text == "{}":
            return text
        if type.elem.text == "bool":
            return f"{{{', '.join(_items(text, type))}}}"
        if text.startswith("[") and text.endswith("]"):
            return "{" + text[1:-1] + "}"
        if symint and type.elem.text == "SymInt" and text not in WORDS:
            return f"c10::SymInt({text})"
    if isinstance(type, BaseType) and type.name == "str":
        return _string(text)
    if type.text == "ScalarType" and text != "long":
        return f"at::ScalarType::{DTYPES[text]}" if text in DTYPES else f"static_cast<at::ScalarType>({text})"
    if type.text == "complex" and text.endswith("j"):
        return f"{held_type(type).text}(0, {text[:-1]})"
    return WORDS.get(text, text)


def _held_list(text: str, type: ListType) -> str:
    """The C++ expression of a list that the dispatcher holds; one item stands for all of a list with a size.

    >>> from opwright.schema.parser import read_written_schema
    >>> schema = read_written_schema("f(complex[2] z=1j) -> ()")
    >>> default_expression("1j", schema.arguments.all[0].type, symint=False)
    'c10::List<c10::complex<double>>({c10::complex<double>(0, 1), c10::complex<double>(0, 1)})'
    """
    values = _items(text, type)
    listed = f"{{{', '.join(values)}}}" if values else ""
    return f"{held_type(type).text}({listed})"


def _items(text: str, type: ListType) -> list[str]:
    items = text[1:-1].split(",") if text.startswith("[") else [text] * (type.size or 1)
    return [_expression(item.strip(), type.elem, False) for item in items if item.strip()]


def _string(text: str) -> str:
    """A C++ string literal. Schemas use single or double quotes, C++ only double quotes."""
    if not text.startswith("'"):
        return text
    literal = []
    escaped = False
    for character in text[1:-1]:
        if escaped:
            literal.append(character if character == "'" else "\\" + character)
            escaped = False
        elif character == "\\":
            escaped = True
        else:
            literal.append('\\"' if character == '"' else character)
    return '"' + "".join(literal) + '"'
