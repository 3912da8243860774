"""The schema that PyTorch infers from the C++ types of a function."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

__all__ = ["divide_template", "inferred_schema", "plain_cpp_type"]

_PLAIN: Final = {
    "Tensor": "Tensor", "int64_t": "int", "double": "float", "bool": "bool", "string": "str", "string_view": "str",
    "Scalar": "Scalar", "SymInt": "SymInt", "Device": "Device", "Generator": "Generator", "IntArrayRef": "int[]",
    "TensorList": "Tensor[]", "ITensorListRef": "Tensor[]", "variable_list": "Tensor[]", "Variable": "Tensor",
    "SymIntArrayRef": "SymInt[]", "IValue": "Any",
}  # fmt: skip
_LISTS: Final = ("vector", "ArrayRef", "List")
_QUALIFIER: Final = re.compile(r"\b(?:const|inline|static|extern|virtual|constexpr|typename)\b|&&?")
_SCOPE: Final = re.compile(r"(?:::)?(?:\b(?:std|at|c10|torch|stable|autograd|detail|headeronly)::)+")
_ALIASED: Final = re.compile(r"(?<![\w:])\w+")
_TEMPLATE: Final = re.compile(r"(\w+)<(.*)>")


def inferred_schema(
    name: str, result: str, parameters: Sequence[str], aliases: Mapping[str, str] = MappingProxyType({})
) -> str | None:
    """The schema of a function with these C++ types; None if one of them has no type in schemas.

    `aliases` are names of types with what they stand for.

    >>> inferred_schema("f", "std::tuple<at::Tensor, int64_t>", ["const at::Tensor&", "std::optional<double>"])
    'f(Tensor _0, float? _1) -> (Tensor _0, int _1)'
    """
    parameters = [_ALIASED.sub(lambda match: aliases.get(match[0], match[0]), text) for text in parameters]
    result = _ALIASED.sub(lambda match: aliases.get(match[0], match[0]), result)
    types = list(map(_schema_type, parameters))
    returned = plain_cpp_type(result)
    match = _TEMPLATE.fullmatch(returned)
    if returned == "void":
        results: list[str | None] = []
    elif match is not None and match[1] == "tuple":
        results = list(map(_schema_type, divide_template(match[2])))
    else:
        results = [_schema_type(returned)]
    if None in types or None in results:
        return None
    taken = ", ".join(f"{type} _{number}" for number, type in enumerate(types))
    given = [f"{type} _{number}" for number, type in enumerate(results)]
    return f"{name}({taken}) -> {given[0] if len(given) == 1 else '(' + ', '.join(given) + ')'}"


def plain_cpp_type(text: str) -> str:
    """A type without qualifiers, blanks, and the namespaces of PyTorch and of the language."""
    plain = _SCOPE.sub("", _QUALIFIER.sub(" ", text))
    return re.sub(r"\s*([<>,*])\s*", r"\1", " ".join(plain.split()))


def _schema_type(text: str) -> str | None:
    plain = plain_cpp_type(text)
    if plain in _PLAIN:
        return _PLAIN[plain]
    match = _TEMPLATE.fullmatch(plain)
    if match is None:
        return None
    inner = list(map(_schema_type, divide_template(match[2])))
    if None in inner:
        return None
    if match[1] in _LISTS and len(inner) == 1:
        return f"{inner[0]}[]"
    if match[1] == "optional" and len(inner) == 1:
        return f"{inner[0]}?"
    if match[1] == "tuple":
        return f"({', '.join(map(str, inner))})"
    if match[1] == "Dict" and len(inner) == 2:
        return f"Dict({inner[0]}, {inner[1]})"
    return None


def divide_template(text: str) -> list[str]:
    """The arguments of a template."""
    parts, depth, start = [], 0, 0
    for index, character in enumerate(text):
        depth += (character == "<") - (character == ">")
        if character == "," and not depth:
            parts.append(text[start:index])
            start = index + 1
    return [*parts, text[start:]]
