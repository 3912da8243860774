"""Conventions of structured kernels: the shape function `meta` and the compute function `impl`.

They take references where a value need not be owned, no symbolic integers, and return nothing.
"""

from __future__ import annotations

from functools import cache
from typing import Final

from opwright.convention import shared_types
from opwright.convention.caching import Bindings
from opwright.cpp import c_types
from opwright.cpp.binding import Binding
from opwright.cpp.c_types import CType
from opwright.model.native_function import NativeFunctionsGroup
from opwright.schema.function import Argument
from opwright.schema.types import BaseType, ListType, OptionalType, Type

#: Schema types with a C++ reference type of their own.
_REFERENCES: Final = {
    "Tensor": c_types.const_ref(c_types.TENSOR),
    "Scalar": c_types.const_ref(c_types.SCALAR),
    "Tensor?": c_types.OPTIONAL_TENSOR_REF,
    "Scalar?": c_types.OPTIONAL_SCALAR_REF,
}


@cache
def argument_type(type: Type) -> CType:
    """The C++ type of an argument of a schema type, written or not."""
    value = shared_types.value_type(type, symint=False)
    if value is not None:
        return value
    if type.text in _REFERENCES:
        return _REFERENCES[type.text]
    if isinstance(type, OptionalType):
        if isinstance(type.elem, ListType) and type.elem.elem.text == "int":
            return c_types.OPTIONAL_INT_ARRAY_REF
        return c_types.optional(argument_type(type.elem))
    if isinstance(type, ListType):
        match type.elem.text:
            case "Tensor":
                return c_types.const_ref(c_types.ITENSOR_LIST_REF)
            case "Tensor?":
                return c_types.IOPT_TENSOR_LIST_REF
            case "int":
                return c_types.INT_ARRAY_REF
            case "Dimname":
                return c_types.DIMNAME_LIST
        return c_types.array_ref(argument_type(type.elem))
    raise AssertionError(BaseType)


_BINDINGS: Final = Bindings(
    lambda argument: Binding(argument.name, argument.name, argument_type(argument.type), argument)
)


def binding(argument: Argument) -> Binding:
    """Parameter for one argument."""
    return _BINDINGS[argument]


def meta_name(group: NativeFunctionsGroup) -> str:
    """Name of the class whose method `meta` is; also the kernel's class, if its entry names no other."""
    return group.functional.name.unambiguous


def meta_arguments(group: NativeFunctionsGroup) -> tuple[Binding, ...]:
    """Parameters of `meta`: the arguments of the functional overload."""
    return tuple([binding(argument) for argument in group.functional.arguments.non_out])


def out_arguments(group: NativeFunctionsGroup) -> tuple[Binding, ...]:
    """Parameters for the out tensors."""
    return tuple([binding(argument) for argument in group.out.arguments.out])


def impl_arguments(group: NativeFunctionsGroup) -> tuple[Binding, ...]:
    """Parameters of `impl`: those of `meta` or precomputed replacements, more precomputed values, and outs."""
    precomputed = group.out.precomputed
    if precomputed is None:
        return meta_arguments(group) + out_arguments(group)
    arguments = precomputed.parameters_for(group.functional.arguments)
    return tuple([binding(argument) for argument in arguments]) + out_arguments(group)
