"""What formulas of C++ may use besides operators, and its Python."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from opwright.dialects.derivatives.formula_checks import MATH_CONSTANTS
from opwright.dialects.library.callable_operators import NONE, PythonValue
from opwright.model.declared_outputs import TORCH_DTYPES
from opwright.source.named_tuple import NamedTuple

__all__ = ["CASTS", "CONSTANTS", "FACTS", "NUMBER_FUNCTIONS", "NUMBER_METHODS", "OPTION_FACTS", "TensorFact"]


class TensorFact(NamedTuple):
    """Something about a tensor that is kept in its place: the suffix of its name, its expression, and its type."""

    suffix: str
    expression: str
    type: str


_SHAPE: Final = TensorFact("shape", "{}.shape", "int[]")
_DTYPE: Final = TensorFact("dtype", "{}.dtype", "ScalarType")
_NUMEL: Final = TensorFact("numel", "{}.numel()", "int")
_STRIDES: Final = TensorFact("strides", "{}.stride()", "int[]")

#: Methods of C++ tensors that tell facts.
FACTS: Final[Mapping[str, TensorFact]] = {
    "sizes": _SHAPE,
    "sym_sizes": _SHAPE,
    "strides": _STRIDES,
    "sym_strides": _STRIDES,
    "numel": _NUMEL,
    "sym_numel": _NUMEL,
    "scalar_type": _DTYPE,
    "dtype": _DTYPE,
    "dim": TensorFact("dim", "{}.dim()", "int"),
    "device": TensorFact("device", "{}.device", "Device"),
    "layout": TensorFact("layout", "{}.layout", "Layout"),
    "is_complex": TensorFact("is_complex", "{}.is_complex()", "bool"),
    "is_floating_point": TensorFact("is_floating_point", "{}.is_floating_point()", "bool"),
    "is_conj": TensorFact("is_conj", "{}.is_conj()", "bool"),
}

#: Methods of numbers, each with the type that it gives.
NUMBER_METHODS: Final[Mapping[str, str]] = {
    "toDouble": "float",
    "toFloat": "float",
    "toInt": "int",
    "toLong": "int",
    "toComplexDouble": "complex",
}

#: The numbers to which C++ casts.
CASTS: Final[Mapping[str, str]] = {
    "double": "float",
    "float": "float",
    "int": "int",
    "int64_t": "int",
    "bool": "bool",
    "c10::SymInt": "int",
    "SymInt": "int",
    "at::Scalar": "Scalar",
    "Scalar": "Scalar",
}

#: Functions of numbers.
NUMBER_FUNCTIONS: Final = frozenset(("cos", "exp", "log", "log2", "pow", "sin", "sqrt", "tanh"))

#: Names of values that formulas may use, without `at::`, `c10::`, `std::` or `torch::` before them.
CONSTANTS: Final[Mapping[str, PythonValue]] = {
    **{name: PythonValue(repr(number), "float") for name, number in MATH_CONSTANTS.items()},
    "INFINITY": PythonValue("_math.inf", "float"),
    "NAN": PythonValue("_math.nan", "float"),
    "nullopt": PythonValue("None", NONE),
    "true": PythonValue("True", "bool"),
    "false": PythonValue("False", "bool"),
    "retain_variables": PythonValue("True", "bool"),
    **{
        spelling: PythonValue(f"_torch.{name}", "ScalarType")
        for cpp, name in TORCH_DTYPES.items()
        for spelling in (f"k{cpp}", f"ScalarType::{cpp}")
    },
}

#: The keywords that options of a tensor are in a call.
OPTION_FACTS: Final = ("dtype", "layout", "device")
