"""How static runtime takes arguments out of the values of an interpreter, and what its tests pass for them.

Types that are not in the table cannot be arguments.
"""

from __future__ import annotations

from typing import Final

from opwright.schema.base_types import BASE_TYPE_ROWS
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
