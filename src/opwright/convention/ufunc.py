"""The conventions of ufuncs: kernels that are one scalar function, run over all elements of their tensors.

The scalar function (`ufunc::add`) computes in one type: `scalar_t`, a vector of it, or the wider `opmath_t`. CPU
kernels are reached through a stub that takes all but the tensors. CUDA kernels are functors: arguments that are the
same for all elements are held, the others are passed for each element.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from opwright.convention import shared_types, structured
from opwright.cpp import c_types
from opwright.cpp.binding import Binding
from opwright.cpp.c_types import CType
from opwright.model.dispatch_key import DispatchKey
from opwright.model.native_function import NativeFunctionsGroup, UfuncKey
from opwright.schema.function import Argument


def kernel_name(group: NativeFunctionsGroup, key: DispatchKey) -> str:
    """The name of the kernel that is made for a key."""
    return f"ufunc_{group.out.schema.name.name}_{key.name}"


def stub_arguments(group: NativeFunctionsGroup) -> tuple[Binding, ...]:
    """The parameters of the stub beside the iterator, which has the tensors."""
    return tuple(
        [structured.binding(argument) for argument in group.out.arguments.non_out if not argument.type.is_tensor_like]
    )


def scalar_arguments(group: NativeFunctionsGroup, computed: CType) -> tuple[Binding, ...]:
    """The parameters of the scalar function where it computes in that type."""
    return tuple([_binding(argument, computed) for argument in group.functional.arguments.non_out])


def tensor_elements(group: NativeFunctionsGroup, held: CType) -> tuple[Binding, ...]:
    """An element, or a vector of elements, of each tensor."""
    return tuple([Binding(tensor.name, tensor.name, held, tensor) for tensor in tensors(group)])


def tensors(group: NativeFunctionsGroup) -> list[Argument]:
    """The arguments that are tensors."""
    return [argument for argument in group.functional.arguments.non_out if argument.type.is_tensor_like]


class FunctorArguments(NamedTuple):
    """What a functor is made from, and what it is called with for each element."""

    held: tuple[Binding, ...]
    passed: tuple[Binding, ...]


#: Which tensor, by its place, a functor holds as a scalar.
HELD_TENSOR: Final = {UfuncKey.CUDAFunctorOnSelf: 1, UfuncKey.CUDAFunctorOnOther: 0}


def functor_arguments(group: NativeFunctionsGroup, key: UfuncKey) -> FunctorArguments:
    """The arguments of one of the three functors; what is held is widened, and so is a tensor held as a scalar."""
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
    """An argument by value; tensors and scalars are in the type that is computed in."""
    return Binding(
        argument.name, argument.name, shared_types.value_type(argument.type, symint=False) or computed, argument
    )
