"""The dispatcher's convention: the names of `torchgen.api.dispatcher`."""

from __future__ import annotations

from collections.abc import Sequence

from opwright.convention import dispatcher
from opwright.torchgen.api import cpp
from opwright.torchgen.interface.cpp_types import ArgName, Binding, CType, NamedCType, bindings_of, current_style
from opwright.torchgen.interface.schema import Argument, FunctionSchema, Return, model_schema
from opwright.torchgen.interface.types import Type


def name(func: FunctionSchema) -> str:
    """The C++ name of an overload."""
    return dispatcher.name(model_schema(func))


def argumenttype_type(
    t: Type, *, mutable: bool, binds: ArgName, remove_non_owning_ref_types: bool = False, symint: bool = True
) -> NamedCType:
    """Type of an argument of a type."""
    return cpp.argumenttype_type(
        t, mutable=mutable, binds=binds, remove_non_owning_ref_types=remove_non_owning_ref_types, symint=symint
    )


def jit_arguments(func: FunctionSchema) -> list[Argument]:
    """Arguments in the order of the schema."""
    return list(func.arguments.flat_all)


def arguments(func: FunctionSchema, *, symint: bool = True) -> list[Binding]:
    """Parameters for all arguments."""
    return bindings_of(dispatcher.arguments(model_schema(func), symint=symint, style=current_style()))


def argument(a: Argument, *, remove_non_owning_ref_types: bool = False, symint: bool = True) -> Binding:
    """Parameter for an argument."""
    choices = {"remove_non_owning_ref_types": remove_non_owning_ref_types, "symint": symint}
    return Binding(a.name, argument_type(a, binds=a.name, **choices), a)


def argument_type(
    a: Argument, *, binds: ArgName, remove_non_owning_ref_types: bool = False, symint: bool = True
) -> NamedCType:
    """Type of an argument."""
    choices = {"mutable": a.is_write, "remove_non_owning_ref_types": remove_non_owning_ref_types, "symint": symint}
    return argumenttype_type(a.type, binds=binds, **choices)


def returns_type(rs: Sequence[Return], *, symint: bool = True) -> CType:
    """Type of all returns."""
    return cpp.returns_type(rs, symint=symint)
