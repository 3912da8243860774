"""C++ types of ExecuTorch, as records over Opwright's interned types."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, cast

from opwright.convention.shared_types import NoCppType
from opwright.mobile.executorch import convention as executorch
from opwright.schema.base_types import BASE_TYPE_ROWS
from opwright.torchgen.interface.cpp_types import (
    NAMED_TYPES,
    BaseCType,
    Binding,
    Expr,
    MutRefCType,
    NamedCType,
    Wrapping,
    cpp_type_of,
    wrapping,
)
from opwright.torchgen.interface.faults import Invalid
from opwright.torchgen.interface.schema import Argument
from opwright.torchgen.interface.types import BaseTy


class NoType(Invalid, KeyError, NotImplementedError):
    """ExecuTorch has no C++ type for a type; PyTorch's generator raises one of these exceptions."""

    __str__ = Exception.__str__


@contextmanager
def refusals() -> Iterator[None]:
    """A block, or a function, that raises NoType for a type that ExecuTorch does not have."""
    try:
        yield
    except NoCppType as type:
        raise NoType(f"ExecuTorch has no C++ type for `{type}`") from None


@wrapping("executorch_optional", executorch.executorch_optional)
class OptionalCType(Wrapping):
    """`std::optional<T>`."""


@wrapping("executorch_array_ref", executorch.executorch_array_ref)
class ArrayRefCType(Wrapping):
    """`torch::executor::ArrayRef<T>`."""


#: The C++ types that `torchgen.executorch.api.types` names, each with its name there.
_NAMES: Final = """
halfT=torch::executor::Half bfloat16T=torch::executor::BFloat16 intArrayRefT=torch::executor::IntArrayRef
optionalT=std::optional contextT=torch::executor::KernelRuntimeContext
"""
_OF_BASE_TYPES: Final = {
    "str": "stringT", "ScalarType": "scalarTypeT", "Tensor": "tensorT", "Scalar": "scalarT",
    "MemoryFormat": "memoryFormatT",
}  # fmt: skip

#: The C++ type of each base type.
BaseTypeToCppMapping: Final = {
    **{BaseTy[row.name]: cpp_type_of(row.executorch) for row in BASE_TYPE_ROWS if row.executorch},
    BaseTy["Tensor"]: cpp_type_of(executorch.TENSOR.text),
    BaseTy["Scalar"]: cpp_type_of(executorch.SCALAR.text),
}
EXECUTORCH_TYPES: Final = {
    **{name: NAMED_TYPES[name] for name in ("boolT", "doubleT", "longT")},
    **{name: cpp_type_of(text) for name, _, text in [pair.partition("=") for pair in _NAMES.split()]},
    **{name: BaseTypeToCppMapping[BaseTy[base]] for base, name in _OF_BASE_TYPES.items()},
    "tensorListT": cpp_type_of(executorch.TENSOR_LIST.text),
}

_CONTEXT: Final = NamedCType("context", MutRefCType(BaseCType(EXECUTORCH_TYPES["contextT"])))

#: The first parameter of kernels, which no argument of a schema stands for.
CONTEXT_ARGUMENT: Final = Binding("context", _CONTEXT, cast("Argument", None))

#: All that `torchgen.executorch.api.types` names in that way.
NAMED_VALUES: Final[dict[str, object]] = {
    **EXECUTORCH_TYPES,
    "contextArg": CONTEXT_ARGUMENT,
    "contextExpr": Expr("context", _CONTEXT),
}
