"""Public C++ API: the names of `torchgen.api.cpp`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple, cast

from opwright.convention import public_api, shared_types
from opwright.convention.defaults import WORDS, default_expression
from opwright.model import native_function as model
from opwright.schema.function import Arguments as ModelArguments
from opwright.schema.function import make_return
from opwright.torchgen.interface.cpp_types import (
    ArgName,
    BaseTypeToCppMapping,
    Binding,
    CType,
    NamedCType,
    Part,
    binding_of,
    bindings_of,
    ctype_of,
    current_style,
)
from opwright.torchgen.interface.functions import NativeFunction, model_function
from opwright.torchgen.interface.schema import (
    Argument,
    Arguments,
    FunctionSchema,
    Return,
    SelfArgument,
    TensorOptionsArguments,
    model_argument,
    model_arguments,
    model_options,
    model_return,
    model_schema,
)
from opwright.torchgen.interface.types import WRITTEN, Type, model_type

#: Defaults of schemas -> their C++ expressions.
JIT_TO_CPP_DEFAULT: Final = {text: expression for text, expression in WORDS.items() if text != "{}"}


def name(func: FunctionSchema, *, faithful_name_for_out_overloads: bool = False, symint_overload: bool = False) -> str:
    """The C++ name of an overload."""
    return public_api.name(model_schema(func), faithful=faithful_name_for_out_overloads, symint=symint_overload)


def valuetype_type(t: Type, *, binds: ArgName, mutable: bool = True, symint: bool = False) -> NamedCType | None:
    """Type of a value that all conventions pass by value; None for other types."""
    ctype = shared_types.value_type(model_type(t), symint=symint)
    return None if ctype is None else NamedCType(binds, ctype_of(ctype))


def argumenttype_type(
    t: Type, *, mutable: bool, binds: ArgName, remove_non_owning_ref_types: bool = False, symint: bool = False
) -> NamedCType:
    """Type of an argument of a type."""
    ctype = shared_types.argument_type(
        model_type(t), mutable=mutable, symint=symint, style=current_style(), owning=remove_non_owning_ref_types
    )
    return NamedCType(binds, ctype_of(ctype))


def argument_type(a: Argument, *, binds: ArgName, symint: bool = False) -> NamedCType:
    """Type of an argument."""
    return argumenttype_type(a.type, mutable=a.is_write, binds=binds, symint=symint)


def returntype_type(t: Type, *, mutable: bool, symint: bool = False) -> CType:
    """Type of a return of a type."""
    result = make_return(None, model_type(t), WRITTEN if mutable else None)
    return ctype_of(shared_types.return_type(result, current_style()))


def return_type(r: Return, *, symint: bool = False) -> CType:
    """Type of a return."""
    return ctype_of(shared_types.return_type(model_return(r), current_style()))


def returns_type(rs: Sequence[Return], *, symint: bool = False) -> CType:
    """Type of all returns."""
    return ctype_of(shared_types.returns_type(tuple(map(model_return, rs)), current_style()))


def return_names(f: NativeFunction, *, fallback_name: str = "result") -> Sequence[str]:
    """Names of the returns."""
    function = model_function(f)
    count = len(function.schema.returns)
    return [public_api.return_name(function, index, fallback=fallback_name) for index in range(count)]


def default_expr(d: str, t: Type, *, symint: bool) -> str:
    """The C++ expression of a default."""
    return default_expression(d, model_type(t), symint=symint)


class _Parameters(NamedTuple):
    """What Opwright's convention asks of a function."""

    arguments: ModelArguments
    style: model.TypeStyle
    cpp_no_default_args: frozenset[str]


def argument(
    a: Part,
    *,
    cpp_no_default_args: set[str],
    method: bool,
    faithful: bool,
    symint: bool = False,
    has_tensor_options: bool,
) -> list[Binding]:
    """Parameters for one argument."""
    if isinstance(a, TensorOptionsArguments):
        if not faithful:
            return [binding_of(public_api.options_binding(model_options(a)), a)]
        choices = {"method": method, "faithful": True, "symint": symint, "has_tensor_options": has_tensor_options}
        return [
            binding
            for option in a.all()
            for binding in argument(option, cpp_no_default_args=cpp_no_default_args, **choices)
        ]
    if isinstance(a, SelfArgument):
        if method:
            return []
        a = a.argument
    keeps_default = a.name not in cpp_no_default_args
    bindings = public_api.bindings_by_argument(symint, current_style(), keeps_default, has_tensor_options)
    return [binding_of(bindings[model_argument(a)])]


def arguments(
    arguments: Arguments, *, faithful: bool, symint: bool = False, method: bool, cpp_no_default_args: set[str]
) -> list[Binding]:
    """Parameters for all arguments."""
    parameters = _Parameters(model_arguments(arguments), current_style(), frozenset(cpp_no_default_args))
    function = cast("model.NativeFunction", parameters)
    bindings = public_api.bindings(function, faithful=faithful, method=method, symint=symint)
    return bindings_of(bindings, arguments.tensor_options)


__all__ = [
    "JIT_TO_CPP_DEFAULT",
    "BaseTypeToCppMapping",
    "argument",
    "argument_type",
    "arguments",
    "argumenttype_type",
    "default_expr",
    "name",
    "return_names",
    "return_type",
    "returns_type",
    "returntype_type",
    "valuetype_type",
]  # fmt: skip
