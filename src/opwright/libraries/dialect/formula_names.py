"""Names that a formula in Python reads, and what formulas of C++ may use besides operators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from opwright.dialects.derivatives.formula_checks import MATH_CONSTANTS
from opwright.libraries.declared_outputs import TORCH_DTYPES
from opwright.libraries.dialect.callable_operators import NONE, OPTIONS, PythonValue, plain_type
from opwright.libraries.operator_library import SavedForm, SavedValue, gives_list
from opwright.model.derivatives import DifferentiabilityInfo
from opwright.schema.types import ListType
from opwright.source.records import NamedTuple
from opwright.syntax.python import variable_name


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


_DEFINED: Final = TensorFact("defined", "({} is not None)", "bool")


class ForwardNames:
    """Values of a forward formula: `x_p` is the argument `x`, and `x_t` is its tangent."""

    def __init__(self, info: DifferentiabilityInfo, results: Mapping[str, int]) -> None:
        function = info.function
        self._values: Final = {
            argument.name: PythonValue(variable_name(argument.name), plain_type(argument.type.text))
            for argument in function.arguments.all
        }
        for name, index in results.items():
            self._values[name] = PythonValue(f"_results[{index}]", plain_type(function.schema.returns[index].type.text))
        self.tangents: Final[dict[str, None]] = {}

    def value(self, name: str) -> PythonValue | None:
        """Value of an argument or a result, or the tangent of an argument."""
        stem, ending = name[:-2], name[-2:]
        if name in self._values or ending not in ("_p", "_t") or stem not in self._values:
            return self._values.get(name)
        if ending == "_p":
            return self._values[stem]
        self.tangents[stem] = None
        return PythonValue(f"_tangent_of_{stem}", self._values[stem].type)

    def fact(self, _name: str, _method: str) -> PythonValue | None:
        """Nothing is kept in the place of values."""
        return None

    def gradient_at(self, _number: int) -> PythonValue | None:
        """Forward formulas read no gradients."""
        return None

    def ask(self, text: str) -> None:
        """Forward formulas read no gradients."""


class FormulaNames:
    """Values of one formula by name, and those of them that it has read; `derived` are its arguments."""

    def __init__(self, info: DifferentiabilityInfo, results: Mapping[str, int], derived: Sequence[str]) -> None:
        function = info.function
        self._values: Final = {argument.name: argument.type for argument in function.arguments.all}
        self._sources: Final = {name: variable_name(name) for name in self._values}
        for name, index in results.items():
            self._values[name] = function.schema.returns[index].type
            self._sources[name] = f"_results[{index}]"
        self._positions: Final = [index for index, is_own in enumerate(info.differentiable_results) if is_own]
        self._gradients: Final = _gradients(info, self._positions)
        self._info: Final = info
        self._needs: Final = [f"_need_{name}" for name in derived]
        self.saved: Final[dict[str, SavedValue]] = {}
        self.gradients: Final[set[int]] = set()
        self.asked: Final[set[int]] = set()

    def value(self, name: str) -> PythonValue | None:
        """Value of a name, which is kept from the forward call; None if there is no such name."""
        if name == "grad_input_mask":
            return PythonValue(f"[{', '.join(self._needs)}]", "bool[]")
        if name in self._values:
            type = self._values[name]
            form = SavedForm.FACT
            if type.is_tensor_like:
                form = SavedForm.TENSORS if isinstance(type, ListType) else SavedForm.TENSOR
            variable = variable_name(name)
            self.saved[variable] = SavedValue(variable, self._sources[name], form)
            return PythonValue(variable, plain_type(type.text))
        return self._gradient(name)

    def fact(self, name: str, method: str) -> PythonValue | None:
        """What a method tells about an argument or a result, which is kept in its place."""
        if name not in self._values:
            return None
        type = plain_type(self._values[name].text)
        if method == "options" and type in ("Tensor", "Tensor?"):
            texts = [f"{fact}={self._kept(name, FACTS[fact])}" for fact in OPTION_FACTS]
            return PythonValue(", ".join(texts), OPTIONS)
        if method in ("defined", "has_value") and type.endswith(("Tensor", "?")):
            return PythonValue(self._kept(name, _DEFINED), "bool")
        if method == "size" and type.endswith("[]"):
            return PythonValue(self._kept(name, TensorFact("length", "len({})", "int")), "int")
        if method in FACTS and type in ("Tensor", "Tensor?"):
            return PythonValue(self._kept(name, FACTS[method]), FACTS[method].type)
        return None

    def _kept(self, name: str, fact: TensorFact) -> str:
        name_of_fact, source = f"_{name}_{fact.suffix}", self._sources[name]
        expression = fact.expression.format(source)
        if self._values[name].text == "Tensor?" and fact is not _DEFINED:
            expression = f"None if {source} is None else {expression}"
        self.saved[name_of_fact] = SavedValue(name_of_fact, expression, SavedForm.FACT)
        return name_of_fact

    def _gradient(self, name: str) -> PythonValue | None:
        """Gradient of a name, or all as a list."""
        if name == "grads":
            self.gradients.update(self._positions)
            if gives_list(self._info.function):
                return PythonValue("_grads", "Tensor[]")
            return PythonValue(f"[{', '.join([f'_grad_{index}' for index in self._positions])}]", "Tensor[]")
        if name not in self._gradients:
            return None
        self.gradients.add(self._gradients[name])
        return PythonValue(f"_grad_{self._gradients[name]}", "Tensor")

    def gradient_at(self, number: int) -> PythonValue | None:
        """Gradient `grads[number]`, counted over the differentiable results; that of an item of a list."""
        if gives_list(self._info.function):
            self.gradients.add(0)
            return PythonValue(f"_grads[{number}]", "Tensor")
        if number >= len(self._positions):
            return None
        self.gradients.add(self._positions[number])
        return PythonValue(f"_grad_{self._positions[number]}", "Tensor")

    def ask(self, text: str) -> None:
        """Note that the formula asks whether the value with this text is defined, if it is a gradient."""
        self.asked.update([position for position in self.gradients if text == f"_grad_{position}"])


def _gradients(info: DifferentiabilityInfo, positions: list[int]) -> dict[str, int]:
    """Positions of the results whose gradients have names, by name."""
    named = {
        f"grad_{result.name}": index
        for index, result in enumerate(info.function.schema.returns)
        if index in positions and result.name is not None
    }
    return {**({"grad": positions[0]} if positions else {}), **named}
