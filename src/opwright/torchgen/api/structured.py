"""Convention of structured kernels: the names of `torchgen.api.structured`."""

from __future__ import annotations

from opwright.convention import structured
from opwright.torchgen.interface.cpp_types import ArgName, Binding, NamedCType, Part, bindings_of, ctype_of
from opwright.torchgen.interface.faults import Invalid
from opwright.torchgen.interface.functions import NativeFunctionsGroup, model_group
from opwright.torchgen.interface.schema import Argument, SelfArgument, TensorOptionsArguments, model_argument
from opwright.torchgen.interface.types import Type, model_type


def argumenttype_type(t: Type, *, mutable: bool, binds: ArgName) -> NamedCType:
    """Type of an argument of a type."""
    return NamedCType(binds, ctype_of(structured.argument_type(model_type(t))))


def argument_type(a: Argument, *, binds: ArgName) -> NamedCType:
    """Type of an argument."""
    return argumenttype_type(a.type, mutable=a.is_write, binds=binds)


def argument(a: Part) -> list[Binding]:
    """Parameter for an argument. Raises AssertionError for tensor options, which no structured kernel has."""
    if isinstance(a, TensorOptionsArguments):
        raise Invalid("structured kernels have no tensor options")
    return bindings_of([structured.binding(model_argument(a.argument if isinstance(a, SelfArgument) else a))])


def impl_arguments(g: NativeFunctionsGroup) -> list[Binding]:
    """Parameters of the computation."""
    return bindings_of(structured.impl_arguments(model_group(g)))


def meta_arguments(g: NativeFunctionsGroup) -> list[Binding]:
    """Parameters of the shape function."""
    return bindings_of(structured.meta_arguments(model_group(g)))


def out_arguments(g: NativeFunctionsGroup) -> list[Binding]:
    """Parameters for the out tensors."""
    return bindings_of(structured.out_arguments(model_group(g)))
