"""Values of C++ expressions, the types that porting knows them by, and the variables at a place of a source."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final

from opwright.libraries.dialect.callable_operators import conversion_cost
from opwright.schema.base_types import BASE_TYPE_ROWS
from opwright.source.records import NamedTuple
from opwright.syntax.cpp_functions import divide_template, plain_cpp_type

#: The type of a value of which nothing is known, and of one that is none of PyTorch's.
UNKNOWN: Final = ""
OTHER: Final = "other"

_NUMBERS: Final = {
    **dict.fromkeys(("int", "long", "short", "size_t", "unsigned", "int8_t", "int16_t", "int32_t", "int64_t"), "int"),
    **dict.fromkeys(("uint8_t", "uint16_t", "uint32_t", "uint64_t", "long long", "unsigned int", "char"), "int"),
    **dict.fromkeys(("float", "double"), "float"),
    **dict.fromkeys(("scalar_t", "opmath_t", "accscalar_t", "index_t", "Half", "BFloat16"), "Scalar"),
    "bool": "bool",
}
_PLAIN: Final = _NUMBERS | {
    **{row.cpp_name: row.name for row in BASE_TYPE_ROWS if "::" in row.stable}, "Scalar": "Scalar",
    "Variable": "Tensor", "string": "str", "IntArrayRef": "int[]", "IntHeaderOnlyArrayRef": "int[]", "IntList": "int[]",
    "OptionalIntArrayRef": "int[]?", "TensorList": "Tensor[]", "TensorOptions": "options", "nullopt_t": "None",
    "cuda::CUDAStream": "stream", "auto": UNKNOWN,
}  # fmt: skip
_LISTS: Final = ("vector", "ArrayRef", "HeaderOnlyArrayRef", "List", "array", "initializer_list")
_TEMPLATE: Final = re.compile(r"(\w+)<(.*)>")


class OptionTexts(NamedTuple):
    """The options of a tensor, as texts; an empty one is not given. `tensor` is the one that all of them are from."""

    tensor: str = ""
    dtype: str = ""
    layout: str = ""
    device: str = ""
    pin_memory: str = ""


class CppValue(NamedTuple):
    """An expression, ported, and the type of its value: a plain type of the schema language, UNKNOWN or OTHER.

    A `plain` one can be repeated: it calls nothing that costs or changes anything. A `variable` is not constant.
    """

    text: str
    type: str = UNKNOWN
    options: OptionTexts | None = None
    is_plain: bool = False
    is_variable: bool = False

    @property
    def is_tensor(self) -> bool:
        """Whether it is a tensor."""
        return self.type == "Tensor"


def value_type(text: str, numbers: Collection[str] = ()) -> str:
    """The type of a value with this C++ type. `numbers` are the parameters of templates around it.

    >>> value_type("const at::Tensor&"), value_type("std::optional<torch::Tensor>"), value_type("unsigned char*")
    ('Tensor', 'Tensor?', 'other')
    >>> value_type("std::tuple<at::Tensor, T>", ("T",)), value_type("c10::ArrayRef<int64_t>")
    ('(Tensor, Scalar)', 'int[]')
    """
    return OTHER if "*" in text else _plain_type(plain_cpp_type(text), numbers)


def _plain_type(plain: str, numbers: Collection[str]) -> str:
    if plain in numbers:
        return "Scalar"
    if plain in _PLAIN:
        return _PLAIN[plain]
    match = _TEMPLATE.fullmatch(plain)
    if match is None:
        return OTHER
    inner = [_plain_type(part.strip(), numbers) for part in divide_template(match[2])]
    if match[1] in ("tuple", "pair"):
        return f"({', '.join([part or OTHER for part in inner])})"
    if match[1] in _LISTS and inner[0] not in (UNKNOWN, OTHER):
        return f"{inner[0]}[]"
    if match[1] == "optional" and len(inner) == 1 and inner[0] not in (UNKNOWN, OTHER):
        return f"{inner[0]}?"
    return OTHER


def items_of_tuple(type: str) -> list[str]:
    """The types of the items of a tuple; none for other types.

    >>> items_of_tuple("(Tensor, int[]?)")
    ['Tensor', 'int[]?']
    """
    return type[1:-1].split(", ") if type.startswith("(") else []


def cpp_cost(given: str, wanted: str) -> int | None:
    """How far a conversion goes that C++ makes; None if it makes none. A value of which nothing is known fits."""
    if given == UNKNOWN:
        return 6 if "Tensor" in wanted else 4
    if given == wanted:
        return 0
    if given == OTHER:
        return None
    if wanted.endswith("?"):
        inner = cpp_cost(given, wanted[:-1])
        return 0 if given == "None" else None if inner is None else inner + 1
    if wanted.endswith("[]") and given in ("int", "float", "Scalar") and wanted != "Tensor[]":
        return 3
    if (given == "Scalar" and wanted in ("int", "bool")) or (given == "float" and wanted == "int"):
        return 3
    return conversion_cost(given, wanted)


class Scopes:
    """The scopes around a place, the innermost one last."""

    def __init__(self) -> None:
        #: Of each scope the variables, the parameters of templates, and whether it sees those around it as constants.
        self._scopes: Final[list[tuple[dict[str, CppValue], set[str], bool]]] = []
        self.push()

    def push(self, *, is_constant: bool = False) -> None:
        """Open a scope; one that `is_constant` sees the variables around it as constants."""
        self._scopes.append(({}, set(), is_constant))

    def pop(self) -> None:
        """Close the innermost scope."""
        self._scopes.pop()

    def add(self, name: str, value: CppValue) -> None:
        """Declare a variable."""
        self._scopes[-1][0][name] = value

    def add_number(self, name: str) -> None:
        """Declare a parameter of a template, which is the type of a number in kernels."""
        self._scopes[-1][1].add(name)

    def find(self, name: str) -> CppValue | None:
        """The variable that a name means; None if there is none."""
        is_constant = False
        for variables, _, seals in reversed(self._scopes):
            if name in variables:
                return variables[name]._replace(is_variable=variables[name].is_variable and not is_constant)
            is_constant |= seals
        return None

    def numbers(self) -> set[str]:
        """The parameters of templates."""
        return set().union(*[numbers for _, numbers, _ in self._scopes])
