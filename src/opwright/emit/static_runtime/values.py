"""How static runtime calls: the arguments out of the values of an interpreter, those of its tests, and the functions.

Types that are not in the table cannot be arguments. Static runtime runs on the CPU only.
"""

from __future__ import annotations

from typing import Final

from opwright.convention import public_api
from opwright.model.dispatch_key import CPU
from opwright.model.native_function import Kernel, NativeFunction
from opwright.schema.base_types import BASE_TYPE_ROWS
from opwright.schema.types import OptionalType, Type, base, optional
from opwright.source.named_tuple import NamedTuple

__all__ = [
    "KERNEL_NAMESPACE",
    "STRUCTURED_NAMESPACE",
    "ArgumentForm",
    "argument_form",
    "function_name",
    "own_kernel",
    "taken_types",
]


class ArgumentForm(NamedTuple):
    """What generated code has for arguments of one type.

    `declared` begins the declaration of the C++ variable, `conversion` is the call that takes the argument out of an
    `IValue`, `script_type` its type in TorchScript, and `test_value` what tests pass; that of tensors is not here.
    """

    declared: str
    conversion: str
    script_type: str
    test_value: str


def _forms() -> dict[Type, ArgumentForm]:
    forms: dict[Type, ArgumentForm] = {}
    for row in BASE_TYPE_ROWS:
        form = row.interpreter
        if form is not None:
            plain, value = base(row.name), form.test_value
            declared = "const auto&" if plain.is_tensor_like else "const auto"
            taken = f"toOptional<{form.optional}>()"
            forms[plain] = ArgumentForm(declared, f"{form.conversion}()", form.script, value)
            forms[optional(plain)] = ArgumentForm("const auto", taken, f"{form.script}?", value)
    return forms


_FORMS: Final = _forms()


def argument_form(type: Type) -> ArgumentForm | None:
    """What generated code has for an argument of a type; None if static runtime cannot pass such an argument.

    >>> argument_form(base("ScalarType")).conversion, argument_form(base("SymInt"))
    ('toScalarType()', None)
    """
    return _FORMS.get(type)


def taken_types() -> list[str]:
    """The names of the types that arguments may have, without the optionals of these.

    >>> taken_types()[:2]
    ['ScalarType', 'Tensor']
    """
    return [type.text for type in _FORMS if not isinstance(type, OptionalType)]


#: The namespace in which generated code calls kernels.
KERNEL_NAMESPACE: Final = "at::native"
#: The namespace of the functions around structured kernels.
STRUCTURED_NAMESPACE: Final = f"at::{CPU.name.lower()}"


def own_kernel(function: NativeFunction) -> Kernel | None:
    """The kernel of an overload for the device of static runtime, None if it has only kernels for others."""
    return function.kernels.get(CPU)


def function_name(function: NativeFunction, *, structured: bool) -> str:
    """The C++ function that computes an overload, with its namespace.

    A structured kernel is called by the function around it, which has the overload's public name. An overload without
    a kernel of its own has one of that name in the namespace of kernels.
    """
    kernel = None if structured else own_kernel(function)
    name = public_api.name(function.schema) if kernel is None else kernel.name
    return f"{STRUCTURED_NAMESPACE if structured else KERNEL_NAMESPACE}::{name}"
