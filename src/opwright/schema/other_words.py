"""The schema language's word for types that are written as C++ or Python write them."""

from __future__ import annotations

import re
from typing import Final

from opwright.schema.types import BASE_TYPES
from opwright.source.diagnostic import Suggestion, did_you_mean

#: A name with its namespaces, and the type in angle or square brackets, which may have brackets itself.
_TYPE: Final = re.compile(
    r"(?:[A-Za-z_]\w*(?:::|\.))*([A-Za-z_]\w*)(?:\s*([<\[])((?:[^<>\[\]]|<[^<>]*>|\[[^\[\]]*\])+)[>\]])?"
)
#: A constant or a reference to one; the type alone is what a schema has.
_CONSTANT: Final = re.compile(rf"const\s+(?P<type>{_TYPE.pattern})(?P<reference>\s*[&*])?")
#: What an array has in its brackets.
_ARRAY: Final = re.compile(r"(.+?)\s*,\s*(\d+)")

#: The last part of a name of C++ or Python -> the word.
_WORDS: Final = {
    **dict.fromkeys(("double", "float32", "float64"), "float"),
    **dict.fromkeys(("int8_t", "int16_t", "int32_t", "int64_t", "long", "short", "size_t", "integer"), "int"),
    **dict.fromkeys(("uint8_t", "uint32_t", "uint64_t", "unsigned"), "int"),
    **dict.fromkeys(("char", "string", "string_view", "basic_string_view"), "str"),
    **dict.fromkeys(("boolean", "Boolean"), "bool"),
    **dict.fromkeys(("complex", "number", "Number"), "Scalar"),
    "dtype": "ScalarType",
    "device": "Device",
    "layout": "Layout",
    "memory_format": "MemoryFormat",
    "IntArrayRef": "int[]",
    "SymIntArrayRef": "SymInt[]",
    "OptionalIntArrayRef": "int[]?",
    "OptionalSymIntArrayRef": "SymInt[]?",
    "TensorList": "Tensor[]",
    "ITensorListRef": "Tensor[]",
}
#: The last part of the name of a type around another one -> what follows the word of that one.
_SUFFIXES: Final = {
    **dict.fromkeys(("optional", "Optional"), "?"),
    **dict.fromkeys(("vector", "ArrayRef", "List", "list", "Sequence"), "[]"),
    "OptionalArrayRef": "[]?",
}


def unknown_type(text: str, start: int, end: int, types: tuple[str, ...]) -> tuple[str, str | Suggestion]:
    """The text of an unknown type that begins with the name from `start` to `end`, and help.

    `types` are the names that there are.

    >>> unknown_type("f(std::vector<double> x)", 2, 5, ("Tensor",))
    ('std::vector<double>', 'did you mean `float[]`?')
    >>> unknown_type("f(Dimname x)", 2, 9, ("Tensor", "Device"))
    ('Dimname', "only PyTorch's own files have this type")
    >>> unknown_type("f(const at::Tensor & x)", 2, 7, ("Tensor",))
    ('const at::Tensor &', 'did you mean `Tensor`?')
    """
    constant = _CONSTANT.match(text, start)
    match = _TYPE.match(text, start if constant is None else constant.start("type"))
    whole = constant or match
    if whole is not None and match is not None and (word := _word(match)) and word != whole.group():
        return whole.group(), f"did you mean `{word}`?"
    name = text[start:end]
    if name == "void":
        return name, "results are written in parentheses: `()` if there is none"
    if match is not None and "::" in match.group():
        return match.group(), did_you_mean(match[1], types)
    # PyTorch's own files have types that the schemas of other libraries do not have.
    only_in_files = "only PyTorch's own files have this type" if name in BASE_TYPES else ""
    return name, only_in_files or did_you_mean(name, types)


def _word(match: re.Match[str]) -> str:
    """The word for a type of another language; empty if none is known."""
    name, bracket, item = match.groups()
    if not bracket or name == "complex":
        return _WORDS.get(name) or (name if name in BASE_TYPES else "")
    array = _ARRAY.fullmatch(item) if name == "array" else None
    item, suffix = (item, _SUFFIXES.get(name, "")) if array is None else (array[1], f"[{array[2]}]")
    inner = _TYPE.fullmatch(item.strip())
    word = _word(inner) if inner is not None and suffix else ""
    return f"{word}{suffix}" if word else ""
