"""Public C++ API: functions in `at::` and methods of `Tensor`.

An overload has up to four signatures: the friendly one (outs first, packed tensor options, defaults), the faithful one
(schema order, separate options, no defaults, `_outf`) if it differs, and both again with symbolic integers if the
schema has any.
"""

from __future__ import annotations

from functools import cache
from typing import Final

from opwright.convention import shared_types
from opwright.convention.caching import Bindings, per_function
from opwright.convention.defaults import cpp_default
from opwright.cpp import c_types
from opwright.cpp.binding import POSSIBLY_REDUNDANT_MEMORY_FORMAT, Binding, with_valid_defaults
from opwright.cpp.c_types import CType
from opwright.cpp.signature import Signature
from opwright.model.native_function import NativeFunction, TypeStyle
from opwright.schema.function import Argument, FunctionSchema, TensorOptions
from opwright.source.records import NamedTuple

#: The prefix of generated functions whose public form is written by hand.
MANUAL_PREFIX: Final = "__dispatch_"


def name(schema: FunctionSchema, *, faithful: bool = False, symint: bool = False) -> str:
    """The C++ name of an overload.

    >>> from opwright.schema import parse_schema
    >>> name(parse_schema("add.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)"), faithful=True)
    'add_outf'
    """
    text = schema.name.name
    if symint:
        text += "_symint"
    if schema.arguments.out:
        text += "_outf" if faithful else "_out"
    return text


def argument_type(argument: Argument, *, symint: bool, style: TypeStyle = TypeStyle.PLAIN) -> CType:
    """The C++ type of one argument."""
    return shared_types.argument_type(argument.type, mutable=argument.is_write, symint=symint, style=style)


@cache
def bindings_by_argument(symint: bool, style: TypeStyle, keeps_default: bool, beside_options: bool) -> Bindings:
    """Parameters by argument; `beside_options` says that the schema has tensor options too."""

    def make(argument: Argument) -> Binding:
        default = cpp_default(argument, symint=symint) if keeps_default else None
        redundant = beside_options and argument.name == "memory_format"
        role = POSSIBLY_REDUNDANT_MEMORY_FORMAT if redundant else argument.name
        return Binding(argument.name, role, argument_type(argument, symint=symint, style=style), argument, default)

    return Bindings(make)


def options_binding(options: TensorOptions) -> Binding:
    """The one parameter `options` for the four tensor options."""
    return _options_binding(*options.all)


@cache
def _options_binding(dtype: Argument, layout: Argument, device: Argument, pin_memory: Argument) -> Binding:
    options = TensorOptions(dtype, layout, device, pin_memory)
    default = None
    if all(option.default == "None" for option in options.all):
        default = "{}"
    elif dtype.default == "long":
        default = "at::kLong"
    return Binding("options", "options", c_types.TENSOR_OPTIONS, options, default)


def bindings(
    function: NativeFunction, *, faithful: bool, method: bool, symint: bool, keeps_defaults: bool | None = None
) -> tuple[Binding, ...]:
    """Parameters of one signature. By default, only the friendly signature keeps defaults."""
    arguments = function.arguments
    keep = not faithful if keeps_defaults is None else keeps_defaults
    options = arguments.options
    bound = usual = bindings_by_argument(symint, function.style, keep, options is not None)
    without = function.cpp_no_default_args
    if keep and without:
        plain = bindings_by_argument(symint, function.style, False, options is not None)
        bound = Bindings(lambda argument: plain[argument] if argument.name in without else usual[argument])
    positional = arguments.positional
    if method and arguments.self_arg is not None:
        positional = arguments.pre_self + arguments.post_self
    if faithful:
        return tuple([bound[argument] for argument in positional + arguments.keyword_only + arguments.out])
    bindings = [bound[option] for option in arguments.out + positional + arguments.pre_options]
    if options is not None:
        bindings.append(options_binding(options))
        bindings += [bound[option] for option in arguments.post_options]
    return tuple(bindings)


class CppSignature(Signature):
    """One of the four signatures of a function or method of the public API."""

    __slots__ = ("faithful", "function", "method", "plain_name", "symint")

    def __init__(self, function: NativeFunction, *, faithful: bool, symint: bool, method: bool) -> None:
        prefix = MANUAL_PREFIX if function.manual_cpp_binding else ""
        schema = function.schema
        parameters = bindings(function, faithful=faithful, method=method, symint=symint)
        super().__init__(
            prefix + name(schema, faithful=faithful, symint=symint),
            shared_types.returns_type(schema.returns, function.style),
            with_valid_defaults(parameters) if function.library.takes_any_schema else parameters,
        )
        self.plain_name: Final = prefix + name(schema, faithful=faithful)
        self.function: Final = function
        self.faithful: Final = faithful
        self.symint: Final = symint
        self.method: Final = method


class CppSignatures(NamedTuple):
    """Signatures of one overload, as functions or as methods."""

    friendly: CppSignature
    faithful: CppSignature | None
    friendly_symint: CppSignature | None
    faithful_symint: CppSignature | None

    def all(self, *, symint: bool = True) -> list[CppSignature]:
        """All signatures in the order of their declarations; `symint=False` omits those with symbolic integers."""
        chosen = self if symint else self[:2]
        return [signature for signature in chosen if signature is not None]

    @property
    def most_faithful(self) -> CppSignature:
        """The faithful signature if there is one, else the friendly one."""
        return self.faithful or self.friendly


def _signatures(function: NativeFunction, method: bool) -> CppSignatures:
    def signature(faithful: bool, symint: bool) -> CppSignature:
        return CppSignature(function, faithful=faithful, symint=symint, method=method)

    has_faithful = function.arguments.options is not None or bool(function.arguments.out)
    has_symint = function.schema.has_symint
    return CppSignatures(
        signature(False, False),
        signature(True, False) if has_faithful else None,
        signature(False, True) if has_symint else None,
        signature(True, True) if has_faithful and has_symint else None,
    )


@per_function
def function_signatures(function: NativeFunction) -> CppSignatures:
    """Signatures of the overload as a function of `at::`."""
    return _signatures(function, method=False)


def method_signatures(function: NativeFunction) -> CppSignatures:
    """Signatures of the overload as a method of `Tensor`."""
    return _signatures(function, method=True)


@per_function
def return_names(function: NativeFunction) -> tuple[str, ...]:
    """Names of the returns in generated code and in `Declarations.yaml`."""
    return tuple(return_name(function, index) for index in range(len(function.schema.returns)))


def return_name(function: NativeFunction, index: int, *, fallback: str = "result") -> str:
    """Name of a return: `self` if in-place, the out argument's or the schema's name, or a numbered fallback."""
    schema = function.schema
    result = schema.returns[index]
    if schema.name.inplace:
        return "self"
    if schema.arguments.out:
        return schema.arguments.out[index].name
    if result.name is not None:
        clashes = any(result.name == argument.name for argument in schema.arguments.all)
        return result.name + "_return" if clashes else result.name
    name = fallback if len(schema.returns) == 1 else f"{fallback}{index}"
    # No argument of PyTorch's operators has this name.
    clashes = function.library.takes_any_schema and any(name == argument.name for argument in schema.arguments.all)
    return f"{name}_return" if clashes else name
