"""Native convention: the signatures of kernels in `at::native`.

Schema order; separate tensor options, which are always optional; defaults, except in out functions.
"""

from __future__ import annotations

from functools import cache
from typing import Final

from opwright.convention import shared_types
from opwright.convention.caching import Bindings, per_function
from opwright.convention.defaults import cpp_default
from opwright.cpp import c_types
from opwright.cpp.binding import Binding, with_valid_defaults
from opwright.cpp.c_types import CType
from opwright.cpp.signature import Signature
from opwright.model.native_function import NativeFunction, TypeStyle
from opwright.schema.function import Argument, FunctionSchema


def name(schema: FunctionSchema) -> str:
    """The C++ name of an overload's kernel if its entry names none."""
    text = schema.name.name
    if schema.arguments.out:
        text += "_out"
    return f"{text}_{schema.name.overload}" if schema.name.overload else text


def argument_type(argument: Argument, *, symint: bool, style: TypeStyle = TypeStyle.PLAIN) -> CType:
    """The C++ type of one argument. An optional tensor that is written stays optional, unlike in the public API."""
    if argument.is_write and argument.type.text == "Tensor?" and not style & TypeStyle.OPTIONAL_WRITES:
        inner = c_types.optional(c_types.TENSOR)
        return c_types.const_ref(inner) if style & TypeStyle.CONST_REF_MUTABLES else c_types.mut_ref(inner)
    return shared_types.argument_type(argument.type, mutable=argument.is_write, symint=symint, style=style)


def binding(argument: Argument, *, symint: bool, style: TypeStyle, keeps_default: bool) -> Binding:
    """Parameter for one argument."""
    return _bindings(symint, style, keeps_default)[argument]


@cache
def _bindings(symint: bool, style: TypeStyle, keeps_default: bool) -> Bindings:
    def make(argument: Argument) -> Binding:
        default = cpp_default(argument, symint=symint) if keeps_default else None
        type = argument_type(argument, symint=symint, style=style)
        return Binding(argument.name, argument.name, type, argument, default)

    return Bindings(make)


#: The four tensor options as parameters; their types and defaults in the schema do not matter.
_OPTION_TYPES: Final = (
    ("dtype", c_types.optional(c_types.SCALAR_TYPE)),
    ("layout", c_types.optional(c_types.LAYOUT)),
    ("device", c_types.optional(c_types.DEVICE)),
    ("pin_memory", c_types.optional(c_types.BOOL)),
)
_OPTIONS: Final = tuple(Binding(name, name, type, None, "{}") for name, type in _OPTION_TYPES)
_OPTIONS_WITHOUT_DEFAULT: Final = tuple(Binding(name, name, type, None) for name, type in _OPTION_TYPES)


def arguments(schema: FunctionSchema, *, symint: bool, style: TypeStyle = TypeStyle.PLAIN) -> tuple[Binding, ...]:
    """Parameters for all arguments."""
    parts = schema.arguments
    keep = not parts.out
    bindings = [
        binding(argument, symint=symint, style=style, keeps_default=keep)
        for argument in parts.positional + parts.pre_options
    ]
    if parts.options is not None:
        bindings += _OPTIONS if keep else _OPTIONS_WITHOUT_DEFAULT
    bindings += [
        binding(option, symint=symint, style=style, keeps_default=keep) for option in parts.post_options + parts.out
    ]
    return tuple(bindings)


def _signature(function: NativeFunction, symint: bool) -> Signature:
    schema = function.schema
    bindings = arguments(schema, symint=symint, style=function.style)
    return Signature(
        name(schema),
        shared_types.returns_type(schema.returns, function.style),
        with_valid_defaults(bindings) if function.library.takes_any_schema else bindings,
    )


@per_function
def signature(function: NativeFunction) -> Signature:
    """Signature with `int64_t` in place of symbolic integers."""
    return _signature(function, False)


@per_function
def symint_signature(function: NativeFunction) -> Signature:
    """Signature with symbolic integers, for kernels with `_symint` in their name."""
    return _signature(function, True)
