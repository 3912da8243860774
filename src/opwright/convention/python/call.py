"""Calls of the C++ API with parsed values: a lambda that calls the function, its arguments, and the results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Final

from opwright.convention import public_api, shared_types
from opwright.convention.caching import PerArgument, per_function
from opwright.convention.python.signature import PythonSignature
from opwright.model.native_function import NativeFunction, TypeStyle
from opwright.schema.function import Argument, Return, make_return
from opwright.schema.types import base, list_of, optional
from opwright.source.records import NamedTuple

#: C++ types with a conversion to Python objects.
WRAPPED: Final = frozenset(
    {
        "void", "void*", "bool", "int64_t", "double", "at::Scalar", "at::QScheme", "at::IntArrayRef", "at::ScalarType",
        "at::Stream", "::std::vector<at::Tensor>", "at::Tensor",
    }
    | {f"::std::tuple<{','.join(['at::Tensor'] * count)}>" for count in range(2, 7)}
    | {
        f"::std::tuple<{items}>"
        for items in (
            "double,int64_t",
            "at::Tensor,::std::vector<at::Tensor>",
            "at::Tensor,at::Tensor,at::Tensor,int64_t",
            "at::Tensor,at::Tensor,double,int64_t",
            "at::Tensor,at::Tensor,at::Tensor,at::Tensor,int64_t",
            "at::Tensor,at::Tensor,double,at::Tensor,int64_t",
            "at::Tensor,at::Tensor,at::Tensor,at::Tensor,c10::SymInt,c10::SymInt,at::Tensor,at::Tensor,at::Tensor",
        )
    }
)  # fmt: skip


class NotWrapped(Exception):
    """A result has no conversion to a Python object; the message is its C++ type."""


class NoFieldName(Exception):
    """Only some results have names; the message names the operator."""


@per_function
def field_names(function: NativeFunction) -> tuple[str, ...]:
    """Names of an overload's results, as attributes of the returned tuple; empty if they have none."""
    try:
        return names_of(function.schema.returns)
    except NoFieldName:
        raise NoFieldName(function.name.text) from None


def names_of(returns: tuple[Return, ...]) -> tuple[str, ...]:
    """Names of several results; empty if they have none. Raises NoFieldName if only some have one."""
    names = tuple([result.name for result in returns if result.name is not None])
    if len(returns) < 2 or not names:
        return ()
    if len(names) < len(returns):
        raise NoFieldName(", ".join(names))
    return names


@per_function
def struct_key(function: NativeFunction) -> str:
    """A key that is equal for overloads whose results have the same Python class."""
    return "_".join((public_api.name(function.schema), *field_names(function)))


def result_type(function: NativeFunction) -> str:
    """The C++ type that the lambda of the overload returns.

    Written arguments are returned by value: a reference would dangle, since the lambda takes them by value.
    """
    return _result_type(function.schema.returns)


@cache
def _result_type(returns: tuple[Return, ...]) -> str:
    plain = tuple(make_return(result.name, result.type) for result in returns)
    return shared_types.returns_type(plain).text


@cache
def _lambda_parameters(style: TypeStyle, keeps_reference: bool) -> PerArgument[str]:
    """The lambda's parameter for each argument: `const at::Tensor & self`.

    Parsed values are temporaries, which do not bind to a non-const reference. So the lambda takes written tensors by
    value, unless they come from a list of outs.
    """

    def make(argument: Argument) -> str:
        type = public_api.argument_type(argument, symint=True, style=style).text
        return f"{'at::Tensor' if type == 'at::Tensor &' and not keeps_reference else type} {argument.name}"

    return PerArgument(make)


class DispatchLambda(NamedTuple):
    """Lambda of one overload: its parameters, their names, the C++ function that it calls, and the arguments."""

    parameters: Sequence[str]
    names: tuple[str, ...]
    target: str
    passed: Sequence[str]


def dispatch_lambda(signature: PythonSignature, function: NativeFunction) -> DispatchLambda:
    """Lambda that calls an overload for a Python signature.

    It has the parameters of the public C++ function, or for a deprecated signature those that such a function would
    have.
    """
    arguments = signature.schema.arguments if signature.deprecated else function.arguments
    by_value = _lambda_parameters(function.style, False)
    outs = arguments.out
    taken = arguments.positional + arguments.pre_options
    texts = [by_value[argument] for argument in taken]
    names = [argument.name for argument in taken]
    if signature.method and "self" in names:
        texts[names.index("self")] = "const at::Tensor & self"
    if arguments.options is not None:
        texts += ["at::TensorOptions options", *[by_value[option] for option in arguments.post_options]]
        names += ["options", *[option.name for option in arguments.post_options]]
    if outs:
        by_reference = _lambda_parameters(function.style, True) if len(outs) > 1 else by_value
        texts = [*[by_reference[out] for out in outs], *texts]
        names = [*[out.name for out in outs], *names]
    passed = names if signature.passed is None else _deprecated_values(signature.passed, function)
    if function.method:
        passed = [name for name in passed if name != "self"]
    return DispatchLambda(texts, tuple(names), dispatch_target(function), passed)


def _deprecated_values(passed: tuple[str, ...], function: NativeFunction) -> list[str]:
    """Arguments that a deprecated signature passes on; a functional overload has no `out`."""
    return [value for value in passed if value != "out" or function.arguments.out]


def dispatch_target(function: NativeFunction) -> str:
    """The C++ function that the lambda calls: the method if there is one, for PyTorch's factories that of `torch::`."""
    name = public_api.name(function.schema, symint=function.schema.has_symint)
    if function.method:
        return f"self.{name}"
    makes_tensor = function.arguments.options is not None or function.root_name.endswith("_like")
    if makes_tensor and function.library.in_libtorch:
        # These set `requires_grad`.
        return f"torch::{name}"
    return f"{function.library.api}::{name}"


class NoTensorOptions(Exception):
    """The Python signature of an overload has tensor options that the overload cannot use; the message names it."""


class CallArguments(NamedTuple):
    """Statements before the lambda, and the expressions of its arguments.

    A text of several statements ends in an empty line. `requires_grad` is the expression that the result's flag is set
    to, or None if the call sets it.
    """

    prepared: Sequence[str]
    passed: Sequence[str]
    requires_grad: str | None


def call_arguments(
    signature: PythonSignature, function: NativeFunction, names: Sequence[str], *, guards_device: bool
) -> CallArguments:
    """The lambda's arguments, made from the parsed values.

    `names` are the names of the lambda's parameters. With `guards_device`, a method initializes the device only if the
    tensor does not dispatch to Python. Raises NoTensorOptions.
    """
    read = {parameter.name: parameter.read(index) for index, parameter in enumerate(signature.parameters)}
    prepared: list[str] = []
    requires_grad = None
    has_options = function.arguments.options is not None
    if has_options and "self" in read:
        prepared.append(f"auto self = {read['self']};")
        expressions = {**read, "self": "self"}
    else:
        expressions = dict(read)
    out = signature.out
    if out is not None and len(out.outs) > 1 and function.arguments.out:
        prepared.append(f"auto out = {read['out']};")
        expressions.update((each.name, f"out[{index}]") for index, each in enumerate(out.outs))
    for parameter in signature.inputs + signature.keywords:
        if parameter.type is _OPTIONAL_NAMES:
            prepared += _unwrap(parameter.name, read[parameter.name])
            expressions[parameter.name] = parameter.name
    if signature.method:
        expressions["self"] = "self"
    if has_options:
        prepared.append(_packed_options(signature, read, function, guards_device))
        expressions["options"] = "options"
    elif signature.options:
        prepared.append(_checked_out(signature, read, function))
    if signature.options and (signature.method or not has_options):
        # `torch::` factories set the flag; here the tensor comes from another function.
        requires_grad = read["requires_grad"]
    return CallArguments(prepared, [expressions[name] for name in names], requires_grad)


_OPTIONAL_NAMES: Final = optional(list_of(base("Dimname"), None))


def _unwrap(name: str, value: str) -> list[str]:
    """Converts an optional list of dimension names: the parser's list owns its items, the call's does not."""
    names = f"DimnameList(__{name}.value())"
    return [
        f"auto __{name} = {value};",
        f"::std::optional<DimnameList> {name} = __{name} ? ::std::make_optional({names}) : ::std::nullopt;",
    ]


def _packed_options(
    signature: PythonSignature, read: Mapping[str, str], function: NativeFunction, guards_device: bool
) -> str:
    if not signature.options:
        raise NoTensorOptions(function.name.text)
    initialized = "torch::utils::maybe_initialize_device(options);"
    if signature.method and guards_device:
        initialized = f"if (!at::impl::tensor_has_dispatch(self)) {{\n  {initialized}\n}}"
    return f"""const auto options = TensorOptions()
    .dtype({read["dtype"]})
    .device({read["device"]})
    .layout({read["layout"]})
    .requires_grad({read["requires_grad"]})
    .pinned_memory({read["pin_memory"]});
{initialized}
"""


def _checked_out(signature: PythonSignature, read: Mapping[str, str], function: NativeFunction) -> str:
    if signature.out is None or not function.arguments.out:
        raise NoTensorOptions(function.name.text)
    absent = {parameter.name: f"_r.isNone({index})" for index, parameter in enumerate(signature.parameters)}
    return f"""check_out_type_matches({read[signature.out.name]}, {read["dtype"]},
                       {absent["dtype"]}, {read["layout"]},
                       {read["device"]}, {absent["device"]});
"""
