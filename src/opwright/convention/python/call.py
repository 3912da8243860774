"""From parsed values to the call: a lambda that calls the C++ function, and the expressions of its arguments."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Final, NamedTuple

from opwright.convention import public_api
from opwright.convention.python.signature import PythonSignature
from opwright.model.native_function import NativeFunction, TypeStyle
from opwright.schema.function import Argument
from opwright.schema.types import base, list_of, optional


class _Taken(dict[Argument, str]):
    """The lambda's parameters for arguments: `const at::Tensor & self`.

    The values that the parser reads are temporaries, to which no plain reference binds; so written tensors are taken
    by value, unless they come from a list of outs.
    """

    def __init__(self, style: TypeStyle, keeps_reference: bool, symint: bool) -> None:
        super().__init__()
        self._style = style
        self._keeps_reference = keeps_reference
        self._symint = symint

    def __missing__(self, argument: Argument) -> str:
        type = public_api.argument_type(argument, symint=self._symint, style=self._style).text
        if type == "at::Tensor &" and not self._keeps_reference:
            type = "at::Tensor"
        declaration = self[argument] = f"{type} {argument.name}"
        return declaration


@cache
def _lambda_parameters(style: TypeStyle, keeps_reference: bool, symint: bool) -> _Taken:
    return _Taken(style, keeps_reference, symint)


class DispatchLambda(NamedTuple):
    """The lambda of one overload: its parameters as text and by name, and what it calls with what."""

    parameters: str
    names: tuple[str, ...]
    target: str
    passed: str


def dispatch_lambda(signature: PythonSignature, function: NativeFunction, *, symint: bool = True) -> DispatchLambda:
    """The lambda that calls an overload for a Python signature.

    Its parameters are those of the public C++ function, or what that would be for a deprecated signature; without
    `symint` they take plain integers for symbolic ones.
    """
    arguments = signature.schema.arguments if signature.deprecated else function.arguments
    by_value = _lambda_parameters(function.style, False, symint)
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
        by_reference = _lambda_parameters(function.style, True, symint) if len(outs) > 1 else by_value
        texts = [*[by_reference[out] for out in outs], *texts]
        names = [*[out.name for out in outs], *names]
    passed = names if signature.passed is None else _deprecated_values(signature.passed, function)
    if function.method:
        passed = [name for name in passed if name != "self"]
    return DispatchLambda(", ".join(texts), tuple(names), _target(function), ", ".join(passed))


def _deprecated_values(passed: tuple[str, ...], function: NativeFunction) -> list[str]:
    """What a deprecated signature passes on; a functional overload has no `out`."""
    return [value for value in passed if value != "out" or function.arguments.out]


def _target(function: NativeFunction) -> str:
    """The C++ function that the lambda calls: the method where there is one."""
    name = public_api.name(function.schema, symint=function.schema.has_symint)
    if function.method:
        return f"self.{name}"
    # The factories of `torch::` know of gradients.
    makes_tensor = function.arguments.options is not None or function.root_name.endswith("_like")
    return f"torch::{name}" if makes_tensor else f"at::{name}"


class NoTensorOptions(Exception):
    """An overload whose Python signature has tensor options has nothing to do with them; the message names it."""


class CallArguments(NamedTuple):
    """What stands before the lambda, line by line, and the expressions of its arguments.

    `requires_grad` is the expression of what the result's flag is set to, None where the call sees to that.
    """

    prepared: tuple[str, ...]
    passed: str
    requires_grad: str | None


def call_arguments(
    signature: PythonSignature, function: NativeFunction, names: tuple[str, ...], *, guards_device: bool
) -> CallArguments:
    """How the parsed values become the lambda's arguments.

    `names` are those of its parameters. `guards_device` tells that a method initializes the device only if the tensor
    does not dispatch to Python. Raises NoTensorOptions.
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
        expressions.update((name, f"out[{index}]") for index, name in enumerate(out.outs))
    for parameter in signature.inputs + signature.keywords:
        if parameter.type is _OPTIONAL_NAMES:
            prepared += _unwrap(parameter.name, read[parameter.name])
            expressions[parameter.name] = parameter.name
    if signature.method:
        expressions["self"] = "self"
    if has_options:
        prepared += _packed_options(signature, read, function, guards_device)
        expressions["options"] = "options"
    elif signature.options:
        prepared += _checked_out(signature, read, function)
    if signature.options and (signature.method or not has_options):
        # The tensor comes from something that knows nothing of gradients.
        requires_grad = read["requires_grad"]
    return CallArguments(tuple(prepared), ", ".join([expressions[name] for name in names]), requires_grad)


_OPTIONAL_NAMES: Final = optional(list_of(base("Dimname"), None))


def _unwrap(name: str, value: str) -> list[str]:
    """An optional list of dimension names: what the parser gives owns its items, what the call takes does not."""
    names = f"DimnameList(__{name}.value())"
    return [
        f"auto __{name} = {value};",
        f"::std::optional<DimnameList> {name} = __{name} ? ::std::make_optional({names}) : ::std::nullopt;",
    ]


def _packed_options(
    signature: PythonSignature, read: Mapping[str, str], function: NativeFunction, guards_device: bool
) -> list[str]:
    """The tensor options in one object, and the device they name made ready."""
    if not signature.options:
        raise NoTensorOptions(function.name.text)
    initialized = ["torch::utils::maybe_initialize_device(options);"]
    if signature.method and guards_device:
        initialized = ["if (!at::impl::tensor_has_dispatch(self)) {", f"  {initialized[0]}", "}"]
    return [
        "const auto options = TensorOptions()",
        f"    .dtype({read['dtype']})",
        f"    .device({read['device']})",
        f"    .layout({read['layout']})",
        f"    .requires_grad({read['requires_grad']})",
        f"    .pinned_memory({read['pin_memory']});",
        *initialized,
        "",
    ]


def _checked_out(signature: PythonSignature, read: Mapping[str, str], function: NativeFunction) -> list[str]:
    """The check that `out` is what the tensor options ask for: it is not made anew."""
    if signature.out is None or not function.arguments.out:
        raise NoTensorOptions(function.name.text)
    absent = {parameter.name: f"_r.isNone({index})" for index, parameter in enumerate(signature.parameters)}
    return [
        f"check_out_type_matches({read[signature.out.name]}, {read['dtype']},",
        f"                       {absent['dtype']}, {read['layout']},",
        f"                       {read['device']}, {absent['device']});",
        "",
    ]
