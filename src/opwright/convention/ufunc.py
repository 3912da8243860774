"""Conventions of ufuncs: kernels that apply a scalar function to all elements of their tensors.

The scalar function (`ufunc::add`) computes in one type: `scalar_t`, a vector of it, or the wider `opmath_t`. CPU
kernels are called through a stub, which takes everything but the tensors. CUDA kernels are functors: they hold the
arguments that are the same for all elements, and are called with the others.
"""

from __future__ import annotations

from typing import Final

from opwright.convention import shared_types, structured
from opwright.cpp import c_types
from opwright.cpp.binding import Binding
from opwright.cpp.c_types import CType
from opwright.model.dispatch_key import DispatchKey
from opwright.model.native_function import NativeFunctionsGroup, UfuncKey
from opwright.schema.function import Argument
from opwright.source.records import NamedTuple


def kernel_name(group: NativeFunctionsGroup, key: DispatchKey) -> str:
    """Name of the generated kernel for a dispatch key."""
    return f"ufunc_{group.out.schema.name.name}_{key.name}"


def stub_arguments(group: NativeFunctionsGroup) -> tuple[Binding, ...]:
    """Parameters of the stub besides the iterator, which has the tensors."""
    return tuple(
        [structured.binding(argument) for argument in group.out.arguments.non_out if not argument.type.is_tensor_like]
    )


def scalar_arguments(group: NativeFunctionsGroup, computed: CType) -> tuple[Binding, ...]:
    """Parameters of the scalar function if it computes in the type `computed`."""
    return tuple([_binding(argument, computed) for argument in group.functional.arguments.non_out])


def tensor_elements(group: NativeFunctionsGroup, held: CType) -> tuple[Binding, ...]:
    """A parameter of type `held` for each tensor: an element, or a vector of elements."""
    return tuple([Binding(tensor.name, tensor.name, held, tensor) for tensor in tensors(group)])


def tensors(group: NativeFunctionsGroup) -> list[Argument]:
    """Tensor arguments."""
    return [argument for argument in group.functional.arguments.non_out if argument.type.is_tensor_like]


class FunctorArguments(NamedTuple):
    """What a functor holds, and what it is called with for each element."""

    held: tuple[Binding, ...]
    passed: tuple[Binding, ...]


#: Functor -> the index of the tensor that it holds as a scalar.
HELD_TENSOR: Final = {UfuncKey.CUDAFunctorOnSelf: 1, UfuncKey.CUDAFunctorOnOther: 0}


def functor_arguments(group: NativeFunctionsGroup, key: UfuncKey) -> FunctorArguments:
    """Arguments of a functor. It holds values, and the tensor that it takes as a scalar, in the wider type."""
    arguments = tensors(group)
    held_tensor = arguments[HELD_TENSOR[key]] if key in HELD_TENSOR else None
    passed = [argument for argument in arguments if argument is not held_tensor]
    return FunctorArguments(
        tuple(
            [
                _binding(argument, c_types.OPMATH_T)
                for argument in group.functional.arguments.non_out
                if argument not in passed
            ]
        ),
        tuple([_binding(argument, c_types.SCALAR_T) for argument in passed]),
    )


def _binding(argument: Argument, computed: CType) -> Binding:
    """A parameter by value; tensors and scalars have the type `computed`."""
    return Binding(
        argument.name, argument.name, shared_types.value_type(argument.type, symint=False) or computed, argument
    )
