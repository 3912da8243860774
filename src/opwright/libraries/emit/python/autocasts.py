"""Module `_autocast.py` of a library: the policies of its operators under autocast, where C++ has none."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from opwright.emit.autocast import AUTOCAST
from opwright.libraries.emit.autocast import DevicePolicy, autocast_policies
from opwright.libraries.emit.python.registrations import (
    functions_module,
    operator_expression,
    parameters_of,
    passed_arguments,
    tensor_variables,
)
from opwright.libraries.entry_fields import CAST_BACK
from opwright.model.native_function import NativeFunction
from opwright.schema.function import Argument
from opwright.syntax.python import string_literal, variable_name

#: The policies that Python registers, each with the dtype to which it casts.
PYTHON_POLICIES: Final = {
    "lower_precision_fp": "_torch.get_autocast_dtype({device})",
    "fp32": "_torch.float32",
    "promote": "_widest({device}, {tensors})",
    CAST_BACK: "_torch.float32",
}


#: The expression of a device type that is not the key in small letters: programs name this one.
_DEVICE_NAMES: Final = {"PrivateUse1": "_C._get_privateuse1_backend_name()"}


def _policies(function: NativeFunction) -> tuple[DevicePolicy, ...]:
    return autocast_policies(function) if function.library.is_stable else ()


def _kernel(function: NativeFunction, policy: DevicePolicy) -> Iterator[str]:
    """Kernel of an operator for a device, and its registration."""
    device = _DEVICE_NAMES.get(policy.device, string_literal(policy.device.lower()))
    name = f"_{function.name.unambiguous}_{policy.device.lower()}"
    key, arguments = f"{AUTOCAST}{policy.device}", function.schema.arguments.all
    policies = policy.by_argument or (policy.policy,) * len(arguments)
    by_name = dict(zip([argument.name for argument in arguments], policies, strict=True))
    tensors = ", ".join(tensor_variables(function))
    dtypes = {name: PYTHON_POLICIES[name].format(device=device, tensors=tensors) for name in policies if name}
    # What is computed for several arguments is computed once.
    variables = {name: "_dtype" if len(dtypes) == 1 else f"_dtype_{at}" for at, name in enumerate(dtypes)}
    parameters, renaming = parameters_of(function)
    passed = passed_arguments(function, lambda argument: _cast(argument, device, variables.get(by_name[argument.name])))
    yield f"{name}_keys = _C.DispatchKeySet(_C._dispatch_key_parse({string_literal(key)}))"
    yield f"{name}_operator = {operator_expression(function)}"
    yield ""
    yield ""
    yield f"def {name}_kernel({parameters}):"
    yield from [line.rstrip() for line in renaming]
    yield from [f"    {variables[name]} = {dtype}" for name, dtype in dtypes.items()]
    yield f"    with _C._ExcludeDispatchKeyGuard({name}_keys):"
    called = f"{name}_operator({', '.join(passed)})"
    if CAST_BACK in policies:
        called = f"_back({called}, {device}, {variable_name(arguments[policies.index(CAST_BACK)].name)})"
    yield f"        return {called}"
    yield ""
    yield ""
    yield f'_library.impl("{function.name.text}", {name}_kernel, {string_literal(key)})'
    yield ""


def _cast(argument: Argument, device: str, dtype: str | None) -> str:
    """What the kernel passes for an argument."""
    value = variable_name(argument.name)
    return f"_cast({value}, {device}, {dtype})" if argument.type.is_tensor_like and dtype is not None else value


def _kernels(function: NativeFunction) -> Iterator[str]:
    return ("\n".join(_kernel(function, policy)) for policy in _policies(function))


MODULE: Final = functions_module("autocast", _policies, _kernels)
