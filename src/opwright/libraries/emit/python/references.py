"""Module `_reference.py` of a library: the functions of PyTorch's operators that compute what its operators do.

They are decompositions for compilers, compute on devices without a kernel, and give the gradients and tangents that no
formula gives.
"""

from __future__ import annotations

from typing import Final

from opwright.libraries.declared_outputs import depends_on_values
from opwright.libraries.emit.python.fakes import check_function, fake_function, has_fake
from opwright.libraries.emit.python.registrations import functions_module, operator_expression
from opwright.libraries.entry_fields import library_fields, recording_operator
from opwright.model.native_function import NativeFunction
from opwright.syntax.python import string_literal

#: The name of the function that gives the decompositions.
DECOMPOSITIONS: Final = "decompositions"


def unread_arguments(function: NativeFunction) -> tuple[str, ...]:
    """The arguments that a reference does not get: what is written as the results of an operator with contracts."""
    if not library_fields(function).contracts:
        return ()
    return tuple([argument.name for argument in function.arguments.all if argument.is_write])


def is_served(function: NativeFunction) -> bool:
    """Whether the reference computes on devices without a kernel."""
    reference = library_fields(function).reference
    is_functional = not function.arguments.writes
    return reference is not None and reference.is_fallback and is_functional and not function.has_composite_kernel


def _texts(function: NativeFunction) -> list[str]:
    reference = library_fields(function).reference
    assert reference is not None
    operator = operator_expression(function)
    fields = library_fields(function)
    more = f", written={unread_arguments(function)!r}" if fields.contracts else ""
    more += f", returned={fields.returned!r}" if fields.returned_from is not None else ""
    texts = [f"_add({operator}, {string_literal(reference.path)}{more})\n"]
    if is_served(function):
        name = f"_{function.name.unambiguous}_declared"
        has_sizes = has_fake(function) and not depends_on_values(library_fields(function).outputs)
        declared = fake_function(function, name) if has_sizes else check_function(function, name)
        texts.append(f"{declared}\n\n_serve({operator}{f', {name}' if declared else ''})\n".lstrip())
    if recording := recording_operator(function):
        texts.append(f"_differentiate({operator}, {string_literal(recording)})\n")
    return texts


MODULE: Final = functions_module(
    "reference",
    lambda function: library_fields(function).reference,
    _texts,
    openings=("recording", "outputs", "reference"),
)
