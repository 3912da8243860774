"""Defaults of schemas, as C++ expressions."""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from opwright.convention.shared_types import held_type, is_held_list
from opwright.schema.base_types import BASE_TYPE_ROWS
from opwright.schema.defaults import DTYPES, is_default
from opwright.schema.function import Argument
from opwright.schema.types import BOOL, SCALAR, TENSOR, BaseType, ListType, OptionalType, Type
from opwright.source.lazy import lazy_pattern

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


#: Type -> the words that have a form in C++.
_WORDS: Final = {row.name: row.words for row in BASE_TYPE_ROWS}


def has_cpp_form(type: Type, default: str) -> bool:
    """Whether the default of a type can be written in C++. Few words can, and none inside a list.

    >>> from opwright.schema import parse_type
    >>> has_cpp_form(parse_type("ScalarType"), "long"), has_cpp_form(parse_type("ScalarType"), "float")
    (True, False)
    >>> has_cpp_form(parse_type("int[2]"), "[0,1]"), has_cpp_form(parse_type("bool[2]"), "[True,False]")
    (True, False)
    """
    if isinstance(type, OptionalType):
        return default == "None" or has_cpp_form(type.elem, default)
    if isinstance(type, ListType):
        if default[:1] not in ("[", "{"):
            return type.elem.text != "bool" and has_cpp_form(type.elem, default)
        items = [item.strip() for item in default[1:-1].split(",") if item.strip()]
        return all(not item[0].isalpha() and item[0] != "'" and has_cpp_form(type.elem, item) for item in items)
    if default[:1] in ("'", '"'):
        return type.text == "str"
    is_word = default[:1].isalpha() or default[:1] == "_" or default in ("-inf", "-nan")
    # A qualified name is C++ already.
    return not is_word or default in _WORDS.get(type.text, ()) or "::" in default


def is_made_symbolic(type: Type, default: str) -> bool:
    """Whether PyTorch's headers make a default symbolic that C++ does not convert: one number for a list of `SymInt`.

    >>> from opwright.schema import parse_type
    >>> [is_made_symbolic(parse_type("SymInt[2]"), default) for default in ("1", "-1", "[-1,0]")]
    [True, False, True]
    """
    required = type.elem if isinstance(type, OptionalType) else type
    is_one = isinstance(required, ListType) and required.elem.text == "SymInt" and default[:1] not in ("[", "{")
    return not is_one or default == "None" or default.isdigit()


@cache
def cpp_default(argument: Argument, *, symint: bool) -> str | None:
    """The C++ expression of an argument's default; None without a default, and for one that C++ has no expression of.

    Those of PyTorch's files all have one. PyTorch's dispatcher takes others too.

    >>> from opwright.syntax.dispatcher_schemas import read_written_schema
    >>> schema = read_written_schema("f(Device where='cpu', Tensor bias=None, int n=None) -> ()")
    >>> [cpp_default(argument, symint=False) for argument in schema.arguments.all]
    ['at::Device("cpu")', '{}', None]
    """
    if argument.default is None or not _has_expression(argument.type, argument.default):
        return None
    return default_expression(argument.default, argument.type, symint=symint)


def _has_expression(type: Type, default: str) -> bool:
    """Whether a default is a value of its type that C++ can say, a dtype, or a number that C++ makes a value."""
    plain = type.elem if isinstance(type, OptionalType) else type
    if default == "None":
        return type is not plain or plain is TENSOR
    if plain.text in ("int", "float", "bool") and is_default(SCALAR, default):
        return True
    if plain.text == "ScalarType" and (default in DTYPES or default.isdigit()):
        return True
    if default == "strided" and plain.text == "Layout":
        return True
    if not is_default(type, default):
        return False
    if isinstance(plain, ListType) and is_held_list(plain):
        return True
    if isinstance(plain, ListType) and plain.elem is BOOL:
        # An array in C++ would have other items than the list.
        return default[:1] != "[" or default.count(",") + 1 == plain.size
    return has_cpp_form(type, default) or (plain.text == "Device" and default[:1] in ("'", '"'))


@cache
def default_expression(text: str, type: Type, *, symint: bool) -> str:
    """The C++ expression of the default `text` of an argument of `type`.

    >>> from opwright.schema import parse_type
    >>> default_expression("[0,1]", parse_type("int[]"), symint=False)
    '{0,1}'
    >>> default_expression("0", parse_type("SymInt[2]"), symint=True)
    'c10::SymInt(0)'
    """
    if isinstance(type, OptionalType):
        if text == "None":
            return "{}" if type.elem.text == "Tensor" else WORDS["None"]
        return default_expression(text, type.elem, symint=symint)
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
    if isinstance(type, BaseType) and type.name in ("str", "Device") and text[:1] in ("'", '"'):
        return _string(text) if type.name == "str" else f"at::Device({_string(text)})"
    if type is TENSOR and text == "None":
        return "{}"
    if type.text == "Layout" and text == "strided":
        return "at::kStrided"
    if type.text == "ScalarType" and text != "long" and "::" not in text:
        return f"at::ScalarType::{DTYPES[text]}" if text in DTYPES else f"static_cast<at::ScalarType>({text})"
    if type.text == "complex" and text.endswith("j"):
        return f"{held_type(type).text}(0, {text[:-1]})"
    return WORDS.get(text, text)


def _held_list(text: str, type: ListType) -> str:
    """The C++ expression of a list that the dispatcher holds; one item stands for all of a list with a size.

    >>> from opwright.syntax.dispatcher_schemas import read_written_schema
    >>> schema = read_written_schema("f(complex[2] z=1j) -> ()")
    >>> default_expression("1j", schema.arguments.all[0].type, symint=False)
    'c10::List<c10::complex<double>>({c10::complex<double>(0, 1), c10::complex<double>(0, 1)})'
    """
    values = _items(text, type)
    listed = f"{{{', '.join(values)}}}" if values else ""
    return f"{held_type(type).text}({listed})"


def _items(text: str, type: ListType) -> list[str]:
    items = text[1:-1].split(",") if text.startswith("[") else [text] * (type.size or 1)
    return [default_expression(item.strip(), type.elem, symint=False) for item in items if item.strip()]


_ESCAPED_OR_QUOTE: Final = lazy_pattern(r"\\.|\"", re.DOTALL)
_IN_CPP: Final = {"\\'": "'", '"': '\\"'}


def _string(text: str) -> str:
    """A C++ string literal. Schemas use single or double quotes, C++ only double quotes."""
    if not text.startswith("'"):
        return text
    return '"' + _ESCAPED_OR_QUOTE.sub(lambda match: _IN_CPP.get(match[0], match[0]), text[1:-1]) + '"'
