"""The codes of mistakes in schema text."""

from __future__ import annotations

from typing import Final

from opwright.source.codes import Code, register


def _code(number: int, title: str, explanation: str) -> str:
    return register(Code(f"E02{number:02}", title, explanation))


SYNTAX: Final = _code(
    1, "schema syntax error", "A schema reads `name.overload(TYPE name=default, *, TYPE name) -> TYPE`."
)
UNKNOWN_TYPE: Final = _code(2, "unknown type", "The word is none of the base types of the schema language.")
BAD_NAME: Final = _code(
    3, "not an operator name", "An operator's name is an identifier; the ending `_out` is reserved for C++ names."
)
BAD_ANNOTATION: Final = _code(
    4,
    "wrong alias annotation",
    "An annotation names alias sets before and after the call: `a`, `a!`, `a|b`, `a -> *`. It stands on tensors, "
    "optional tensors and tensor lists. A written value has one alias set, and only one side may name several.",
)
BAD_DEFAULT: Final = _code(5, "wrong default", "The text after `=` is no value of the argument's type.")
DUPLICATE_ARGUMENT: Final = _code(6, "argument given twice", "Each argument of a schema has a name of its own.")
REQUIRED_AFTER_DEFAULT: Final = _code(
    7, "required argument after one with a default", "A positional argument without default cannot follow one with one."
)
KEYWORD_NAME: Final = _code(
    8, "argument named like a Python keyword", "Arguments are passed by name from Python, where the word is reserved."
)
OUT_PLACE: Final = _code(
    9,
    "argument after the out arguments",
    "Keyword-only arguments that are written to are `out` arguments and stand last.",
)
STAR: Final = _code(10, "wrong `*`", "One `*` starts the keyword-only arguments, and at least one must follow it.")
RETURN_ALIAS: Final = _code(
    11,
    "return does not alias its argument",
    "What a function writes and returns has the same annotation in both places.",
)
RETURN_COUNT: Final = _code(
    12,
    "wrong number of returns",
    "A function with tensor outs returns each of them once; one with tensor lists, nothing.",
)
INPLACE_SELF: Final = _code(
    13, "in-place function without writable self", "An in-place function (`name_`) writes `self` and returns it."
)
KIND_CONFLICT: Final = _code(
    14, "two kinds at once", "A function is functional, in-place, out, or mutable; never two of these."
)
MIXED_RETURNS: Final = _code(15, "returns of both kinds", "Either all returns are written arguments, or none is.")
OPTIONS_PLACE: Final = _code(
    16, "tensor options on a function that writes", "dtype, layout, device and pin_memory say how to make a new tensor."
)
FUNCTIONAL_OVERLOAD: Final = _code(
    17, "overload name says functional", "An overload whose name holds `functional` belongs to a functional operator."
)
MUTABLE_BEFORE_SELF: Final = _code(18, "written argument before self", "Arguments before `self` cannot be written to.")
LIST_SIZE: Final = _code(19, "wrong list size", "A list has no size or a whole number above zero: `int[2]`.")
