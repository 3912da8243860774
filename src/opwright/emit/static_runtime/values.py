"""How static runtime takes arguments out of the values of an interpreter, and what its tests pass for them.

Types that are not in the table cannot be arguments.
"""

from __future__ import annotations

from typing import Final

from opwright.schema.types import OptionalType, Type, base, optional
from opwright.source.named_tuple import NamedTuple

__all__ = ["ArgumentForm", "argument_form", "taken_types"]


class ArgumentForm(NamedTuple):
    """What generated code has for arguments of one type.

    `declared` begins the declaration of the C++ variable, `conversion` is the call that takes the argument out of an
    `IValue`, `script_type` its type in TorchScript, and `test_value` what tests pass; that of tensors is not here.
    """

    declared: str
    conversion: str
    script_type: str
    test_value: str


#: Base type -> conversion, C++ type of an optional, type in TorchScript, value in tests.
_ROWS: Final = {
    "Tensor": ("toTensor", "at::Tensor", "Tensor", ""),
    "int": ("toInt", "int64_t", "int", "1"),
    "bool": ("toBool", "bool", "bool", "false"),
    "Scalar": ("toScalar", "at::Scalar", "int", "2"),
    "ScalarType": ("toScalarType", "at::ScalarType", "int", "at::ScalarType::Float"),
    "str": ("toStringView", "c10::string_view", "str", '"floor"'),
}


def _forms() -> dict[Type, ArgumentForm]:
    forms: dict[Type, ArgumentForm] = {}
    for name, (conversion, optional_type, script_type, value) in _ROWS.items():
        plain = base(name)
        declared = "const auto&" if plain.is_tensor_like else "const auto"
        forms[plain] = ArgumentForm(declared, f"{conversion}()", script_type, value)
        forms[optional(plain)] = ArgumentForm("const auto", f"toOptional<{optional_type}>()", f"{script_type}?", value)
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
    ['Tensor', 'int']
    """
    return [type.text for type in _FORMS if not isinstance(type, OptionalType)]
