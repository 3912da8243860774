"""Convention of kernels: the names of `torchgen.api.native`."""

from __future__ import annotations

from collections.abc import Sequence

from opwright.convention import native
from opwright.schema.function import FunctionSchema as ModelSchema
from opwright.schema.function import argument_list, make_argument
from opwright.schema.names import OperatorName
from opwright.torchgen.api import cpp
from opwright.torchgen.interface.cpp_types import (
    ArgName,
    Binding,
    CType,
    NamedCType,
    Part,
    binding_of,
    bindings_of,
    ctype_of,
    current_style,
)
from opwright.torchgen.interface.schema import (
    Argument,
    FunctionSchema,
    Return,
    SelfArgument,
    TensorOptionsArguments,
    model_argument,
    model_options,
    model_schema,
)
from opwright.torchgen.interface.types import WRITTEN, Type, model_type


def name(func: FunctionSchema) -> str:
    """Name of an overload's kernel if its entry names none."""
    return native.name(model_schema(func))


def argument(a: Part, *, is_out: bool, symint: bool) -> list[Binding]:
    """Parameters for one argument, which has no default in an out overload."""
    style = current_style()
    if isinstance(a, TensorOptionsArguments):
        out = (make_argument("out", model_type(a.dtype.type), None, WRITTEN),) if is_out else ()
        alone = ModelSchema(OperatorName("f"), argument_list((), model_options(a).all, out), ())
        return bindings_of(native.arguments(alone, symint=symint, style=style)[:4], a)
    plain = model_argument(a.argument if isinstance(a, SelfArgument) else a)
    return [binding_of(native.binding(plain, symint=symint, style=style, keeps_default=not is_out))]


def arguments(func: FunctionSchema, *, symint: bool) -> list[Binding]:
    """Parameters for all arguments."""
    parameters = native.arguments(model_schema(func), symint=symint, style=current_style())
    return bindings_of(parameters, func.arguments.tensor_options)


def argument_type(a: Argument, *, binds: ArgName, symint: bool) -> NamedCType:
    """Type of an argument."""
    ctype = native.argument_type(model_argument(a), symint=symint, style=current_style())
    return NamedCType(binds, ctype_of(ctype))


def returns_type(rs: Sequence[Return], *, symint: bool) -> CType:
    """Type of all returns."""
    return cpp.returns_type(rs, symint=symint)


def argumenttype_type(t: Type, *, mutable: bool, binds: ArgName, symint: bool) -> NamedCType:
    """Type of an argument of a type."""
    model = make_argument("x", model_type(t), None, WRITTEN if mutable else None)
    return NamedCType(binds, ctype_of(native.argument_type(model, symint=symint, style=current_style())))
