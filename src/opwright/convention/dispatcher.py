"""The dispatcher's convention: the order of the schema, options apart, symbolic integers, no defaults.

It is what a kernel registered for a dispatch key looks like, and what `at::_ops::NAME::call` takes.
"""

from __future__ import annotations

from typing import Final

from opwright.convention import cpp, types
from opwright.convention.derived import per_function
from opwright.cpp.binding import Binding
from opwright.cpp.signature import Signature
from opwright.cpp.types import CType
from opwright.model.native_function import NativeFunction, TypeStyle
from opwright.schema.function import Argument, FunctionSchema


def name(schema: FunctionSchema) -> str:
    """The C++ name of an overload."""
    return cpp.name(schema)


def argument_type(one: Argument, *, symint: bool = True, style: TypeStyle = TypeStyle.PLAIN) -> CType:
    """The C++ type of one argument."""
    return types.argument_type(one.type, mutable=one.is_write, symint=symint, style=style)


_BINDINGS: Final[dict[tuple[Argument, bool, int], Binding]] = {}


def binding(one: Argument, *, symint: bool = True, style: TypeStyle = TypeStyle.PLAIN) -> Binding:
    """The parameter for one argument."""
    key = (one, symint, int(style))
    found = _BINDINGS.get(key)
    if found is None:
        found = _BINDINGS[key] = Binding(one.name, one.name, argument_type(one, symint=symint, style=style), one)
    return found


def arguments(
    schema: FunctionSchema, *, symint: bool = True, style: TypeStyle = TypeStyle.PLAIN
) -> tuple[Binding, ...]:
    """The parameters for all arguments."""
    return tuple([binding(one, symint=symint, style=style) for one in schema.arguments.all])


@per_function
def signature(function: NativeFunction) -> Signature:
    """The signature with symbolic integers."""
    return _signature(function, symint=True)


@per_function
def concrete_signature(function: NativeFunction) -> Signature:
    """The signature with `int64_t` in place of symbolic integers."""
    return _signature(function, symint=False)


def _signature(function: NativeFunction, *, symint: bool) -> Signature:
    schema = function.schema
    return Signature(
        name(schema),
        types.returns_type(schema.returns, function.style),
        arguments(schema, symint=symint, style=function.style),
    )
