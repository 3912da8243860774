"""The dispatcher's convention: schema order, separate tensor options, symbolic integers, no defaults.

Kernels registered for a dispatch key and `at::_ops::NAME::call` have these signatures.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from opwright.convention import public_api, shared_types
from opwright.convention.caching import Bindings, per_function
from opwright.cpp.binding import Binding
from opwright.cpp.c_types import CType
from opwright.cpp.signature import Signature
from opwright.model.native_function import NativeFunction, TypeStyle
from opwright.schema.function import Argument, Arguments, FunctionSchema, Return


def name(schema: FunctionSchema) -> str:
    """The C++ name of an overload."""
    return public_api.name(schema)


def argument_type(argument: Argument, *, symint: bool = True, style: TypeStyle = TypeStyle.PLAIN) -> CType:
    """The C++ type of one argument."""
    return shared_types.argument_type(argument.type, mutable=argument.is_write, symint=symint, style=style)


@cache
def _bindings(symint: bool, style: TypeStyle) -> Bindings:
    def make(argument: Argument) -> Binding:
        return Binding(argument.name, argument.name, argument_type(argument, symint=symint, style=style), argument)

    return Bindings(make)


@cache
def _parameters(arguments: Arguments, symint: bool, style: TypeStyle) -> tuple[Binding, ...]:
    """Parameters for a list of arguments, which many overloads have in common."""
    bindings = _bindings(symint, style)
    return tuple([bindings[argument] for argument in arguments.all])


def binding(argument: Argument, *, symint: bool = True, style: TypeStyle = TypeStyle.PLAIN) -> Binding:
    """Parameter for one argument."""
    return _bindings(symint, style)[argument]


def arguments(
    schema: FunctionSchema, *, symint: bool = True, style: TypeStyle = TypeStyle.PLAIN
) -> tuple[Binding, ...]:
    """Parameters for all arguments."""
    return _parameters(schema.arguments, symint, style)


@per_function
def signature(function: NativeFunction) -> Signature:
    """Signature with symbolic integers."""
    return _signature(function, symint=True)


@per_function
def concrete_signature(function: NativeFunction) -> Signature:
    """Signature with `int64_t` in place of symbolic integers."""
    return _signature(function, symint=False)


def _signature(function: NativeFunction, *, symint: bool) -> Signature:
    schema = function.schema
    return Signature(
        name(schema),
        shared_types.returns_type(schema.returns, function.style),
        arguments(schema, symint=symint, style=function.style),
    )


def is_tensor_like(parameter: Binding) -> bool:
    """Whether a parameter takes a tensor, or an optional or a list of tensors."""
    return isinstance(parameter.argument, Argument) and parameter.argument.type.is_tensor_like


def is_symint_like(parameter: Binding) -> bool:
    """Whether a parameter takes a symbolic integer, or an optional or a list of them."""
    return isinstance(parameter.argument, Argument) and parameter.argument.type.is_symint_like


def returned_arguments(schema: FunctionSchema) -> list[str | None]:
    """For each return, the name of the argument that it aliases, or None for a new value.

    >>> from opwright.schema import parse_schema
    >>> returned_arguments(parse_schema("f.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)"))
    ['out']
    """
    names = {argument.annotation: argument.name for argument in schema.arguments.all if argument.annotation is not None}
    return [None if result.annotation is None else names.get(result.annotation) for result in schema.returns]


def fresh_results(returned: Sequence[str | None], result: str) -> list[str]:
    """Expressions of the returns that are new values; `result` is the variable with a call's result.

    >>> fresh_results([None, "count"], "result")
    ['std::get<0>(result)']
    """
    if len(returned) == 1:
        return [result] if returned[0] is None else []
    return [f"std::get<{index}>({result})" for index, name in enumerate(returned) if name is None]


def return_statement(returns: tuple[Return, ...], values: Sequence[str], style: TypeStyle = TypeStyle.PLAIN) -> str:
    """Statement that returns the values; empty if there are none.

    >>> return_statement((), [])
    ''
    """
    if not returns:
        return ""
    if len(returns) == 1:
        return f"return {values[0]};"
    return f"return {shared_types.returns_type(returns, style).text}({', '.join(values)});"
