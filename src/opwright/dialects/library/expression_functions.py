"""The functions and the members of tensors that expressions of declared outputs may use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from opwright.model.declared_outputs import OutputOperation, ValueKind
from opwright.source.named_tuple import NamedTuple

__all__ = ["ACCEPTED_KINDS", "FUNCTIONS", "LIKE", "MEMBERS", "Function", "FunctionParameter", "TensorMember"]

#: The function that stands for a whole output; it is no part of a larger expression.
LIKE: Final = "like"


class FunctionParameter(NamedTuple):
    """One parameter: the kinds that it takes, the text of its default, and whether it takes None or any number."""

    name: str
    kinds: tuple[ValueKind, ...]
    default: str | None = None
    takes_none: bool = False
    is_repeated: bool = False

    def __str__(self) -> str:
        if self.is_repeated:
            return f"{self.name}, ..."
        return self.name if self.default is None else f"{self.name}={self.default}"


class Function(NamedTuple):
    """A function: its parameters and result, what it does, and a sentence for the documentation.

    A result of None is an integer if all arguments are integers, else a size.
    """

    name: str
    parameters: tuple[FunctionParameter, ...]
    result: ValueKind | None
    operation: OutputOperation
    help: str

    @property
    def signature(self) -> str:
        """The parameters as they are written: `(sizes, dim, keepdim=False)`."""
        return f"({', '.join(map(str, self.parameters))})"


class TensorMember(NamedTuple):
    """A member of tensors: whether it is called, and with how many dimensions at most."""

    name: str
    is_called: bool
    result: ValueKind
    operation: OutputOperation
    help: str


_INTEGER: Final = (ValueKind.integer,)
_NUMBERS: Final = (ValueKind.integer, ValueKind.size)
_SHAPES: Final = (ValueKind.tensor, ValueKind.sizes, ValueKind.integers)
_LISTS: Final = (ValueKind.sizes, ValueKind.integers, ValueKind.tensors, ValueKind.items)
_PROMOTED: Final = (
    *(ValueKind.tensor, ValueKind.tensors, ValueKind.dtype, ValueKind.number, ValueKind.integer, ValueKind.boolean),
)

#: The kinds that an expression may have where a value of the key is needed: an integer can be used as a size.
ACCEPTED_KINDS: Final[Mapping[ValueKind, tuple[ValueKind, ...]]] = {
    ValueKind.size: _NUMBERS,
    ValueKind.sizes: (ValueKind.sizes, ValueKind.integers),
}

FUNCTIONS: Final[Mapping[str, Function]] = {
    function.name: function
    for function in (
        Function(
            "broadcast",
            (FunctionParameter("shapes", _SHAPES, is_repeated=True),),
            ValueKind.sizes,
            OutputOperation.broadcast,
            "The sizes to which tensors or lists of sizes broadcast.",
        ),
        Function(
            "reduce",
            (
                FunctionParameter("shape", _SHAPES),
                FunctionParameter("dim", (ValueKind.integer, ValueKind.integers), takes_none=True),
                FunctionParameter("keepdim", (ValueKind.boolean,), "False"),
            ),
            ValueKind.sizes,
            OutputOperation.reduce,
            "The sizes without the dimensions `dim`, or with 1 in their place; all of them if `dim` is None or empty.",
        ),
        Function(
            "cat",
            (FunctionParameter("tensors", (ValueKind.tensors,)), FunctionParameter("dim", _INTEGER, "0")),
            ValueKind.sizes,
            OutputOperation.cat,
            "The sizes of tensors joined along a dimension.",
        ),
        Function(
            "promote",
            (FunctionParameter("values", _PROMOTED, is_repeated=True),),
            ValueKind.dtype,
            OutputOperation.promote,
            "The dtype to which tensors, dtypes and numbers promote, as in `torch.result_type`.",
        ),
        Function(
            "len",
            (FunctionParameter("list", _LISTS),),
            ValueKind.integer,
            OutputOperation.length,
            "The number of items.",
        ),
        Function(
            "max",
            (FunctionParameter("values", _NUMBERS, is_repeated=True),),
            None,
            OutputOperation.maximum,
            "The largest of integers.",
        ),
        Function(
            "min",
            (FunctionParameter("values", _NUMBERS, is_repeated=True),),
            None,
            OutputOperation.minimum,
            "The smallest of integers.",
        ),
        Function(
            "dynamic",
            (FunctionParameter("max", _NUMBERS, "None", takes_none=True), FunctionParameter("min", _INTEGER, "0")),
            ValueKind.size,
            OutputOperation.dynamic,
            "A size that depends on the values of tensors, see [below](#sizes-that-depend-on-values).",
        ),
    )
}

MEMBERS: Final[Mapping[str, TensorMember]] = {
    member.name: member
    for member in (
        TensorMember("size", True, ValueKind.size, OutputOperation.size, "The size of a dimension: `self.size(-1)`."),
        TensorMember("sizes", True, ValueKind.sizes, OutputOperation.sizes, "All sizes."),
        TensorMember("shape", False, ValueKind.sizes, OutputOperation.sizes, "All sizes, as in Python."),
        TensorMember("dim", True, ValueKind.integer, OutputOperation.dim, "The number of dimensions."),
        TensorMember("numel", True, ValueKind.size, OutputOperation.numel, "The number of elements."),
        TensorMember("dtype", False, ValueKind.dtype, OutputOperation.dtype_of, "The dtype."),
        TensorMember("device", False, ValueKind.device, OutputOperation.device_of, "The device."),
    )
}
