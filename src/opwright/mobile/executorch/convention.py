"""Convention of ExecuTorch's kernels: schema order, outs last, no defaults, and ExecuTorch's types.

ExecuTorch has no symbolic integers, tensor options, generators, devices or layouts. Its kernels take a context first,
which the parameters of a signature leave out.
"""

from __future__ import annotations

from functools import cache
from typing import Final

from opwright.convention import public_api
from opwright.convention.caching import per_function
from opwright.convention.shared_types import NoCppType
from opwright.cpp import c_types
from opwright.cpp.binding import Binding
from opwright.cpp.c_types import CType
from opwright.cpp.signature import Signature
from opwright.model.native_function import NativeFunction, TypeStyle
from opwright.schema.base_types import BASE_TYPE_ROWS
from opwright.schema.function import Argument, Return
from opwright.schema.types import BaseType, ListType, OptionalType, Type

#: The first parameter of kernels.
CONTEXT: Final = "torch::executor::KernelRuntimeContext & context"

TENSOR: Final = c_types.base("torch::executor::Tensor")
SCALAR: Final = c_types.base("torch::executor::Scalar")
TENSOR_LIST: Final = c_types.base("torch::executor::TensorList")

executorch_optional: Final = c_types.interning("executorch_optional", "std::optional<{}>".format)
executorch_array_ref: Final = c_types.interning("executorch_array_ref", "torch::executor::ArrayRef<{}>".format)

#: The types that are passed by value.
_VALUES: Final = {row.name: c_types.base(row.executorch) for row in BASE_TYPE_ROWS if row.executorch}


def name(function: NativeFunction) -> str:
    """Name of an overload's function in `Functions.h`."""
    return public_api.name(function.schema, faithful=True)


@cache
def value_type(type: Type) -> CType | None:
    """Type of a value that is passed by value; None for tensors, scalars and most lists. Raises NoCppType."""
    if isinstance(type, BaseType):
        if type.name in ("Tensor", "Scalar"):
            return None
        if type.name in _VALUES:
            return _VALUES[type.name]
    elif isinstance(type, OptionalType):
        inner = value_type(type.elem)
        return None if inner is None else executorch_optional(inner)
    elif isinstance(type, ListType):
        if type.elem.text != "bool":
            return None
        if type.size is not None:
            return executorch_array_ref(c_types.BOOL)
    raise NoCppType(type.text)


@cache
def argument_type(type: Type, *, mutable: bool = False, style: TypeStyle = TypeStyle.PLAIN) -> CType:
    """Type of an argument. Raises NoCppType if ExecuTorch has none.

    >>> from opwright.schema import parse_type
    >>> argument_type(parse_type("Tensor?")).text
    'const std::optional<torch::executor::Tensor> &'
    """
    value = value_type(type)
    if value is not None:
        return value
    is_reference = mutable and not style & TypeStyle.CONST_REF_MUTABLES
    if isinstance(type, BaseType):
        if type.name == "Scalar":
            return c_types.const_ref(SCALAR)
        return c_types.mut_ref(TENSOR) if is_reference else c_types.const_ref(TENSOR)
    if isinstance(type, OptionalType):
        if type.elem.text == "Tensor":
            return c_types.mut_ref(TENSOR) if is_reference else c_types.const_ref(executorch_optional(TENSOR))
        if type.elem.text == "Scalar":
            return c_types.const_ref(executorch_optional(SCALAR))
        return executorch_optional(argument_type(type.elem, mutable=mutable, style=style))
    if not isinstance(type, ListType):
        raise NoCppType(type.text)
    match type.elem.text:
        case "Tensor":
            return TENSOR_LIST
        case "Tensor?":
            return executorch_array_ref(executorch_optional(TENSOR))
    return executorch_array_ref(argument_type(type.elem, mutable=mutable, style=style))


@cache
def return_type(type: Type, *, mutable: bool = False, style: TypeStyle = TypeStyle.PLAIN) -> CType:
    """Type of a return. Raises NoCppType if ExecuTorch has none."""
    value = value_type(type)
    if value is not None:
        return value
    if isinstance(type, BaseType):
        if type.name == "Scalar":
            return SCALAR
        if not mutable:
            return TENSOR
        return c_types.const_ref(TENSOR) if style & TypeStyle.CONST_REF_MUTABLES else c_types.mut_ref(TENSOR)
    if isinstance(type, ListType) and type.size is None and not mutable:
        return c_types.vector(return_type(type.elem, style=style))
    raise NoCppType(type.text)


@cache
def returns_type(returns: tuple[Return, ...], style: TypeStyle = TypeStyle.PLAIN) -> CType:
    """Type of all returns: `void`, the single type, or a tuple. Raises NoCppType."""
    if not returns:
        return c_types.VOID
    types = [return_type(result.type, mutable=result.is_write, style=style) for result in returns]
    return types[0] if len(types) == 1 else c_types.tuple_of(tuple(types))


@cache
def _binding(argument: Argument, style: TypeStyle) -> Binding:
    type = argument_type(argument.type, mutable=argument.is_write, style=style)
    return Binding(argument.name, argument.name, type, argument)


def arguments(function: NativeFunction) -> tuple[Binding, ...]:
    """Parameters for all arguments. Raises NoCppType."""
    if function.arguments.options is not None:
        raise NoCppType("TensorOptions")
    return tuple([_binding(argument, function.style) for argument in function.arguments.all])


@per_function
def signature(function: NativeFunction) -> Signature:
    """Signature of an overload's function and of its kernels, without the context. Raises NoCppType."""
    return Signature(name(function), returns_type(function.schema.returns, function.style), arguments(function))
