"""Loads `reference` of an entry: a Python function of PyTorch's operators that computes what the operator does."""

from __future__ import annotations

from typing import Final

from opwright.dialects.field import FLAG, TEXT, Field
from opwright.dialects.native_functions.entry_builder import EntryBuilder
from opwright.libraries import library_codes
from opwright.libraries.declared_outputs import TORCH_DTYPES
from opwright.libraries.dialect.implementations import check_fields, is_python_function
from opwright.libraries.entry_fields import Reference
from opwright.schema.function import FunctionSchema, SchemaKind
from opwright.source.diagnostic import did_you_mean
from opwright.source.expect import expect_boolean, expect_mapping
from opwright.source.nodes import MappingNode, Node, Scalar

REFERENCE: Final = "reference"
_HELP: Final = "write it like `acme.reference:rms_norm`"

REFERENCE_FIELDS: Final = (
    Field("function", "text", TEXT, "The module, a colon, and the function in it.", is_required=True),
    Field(
        "tolerances",
        "mapping",
        {"type": "object", "additionalProperties": {"anyOf": [TEXT, {"type": "number"}]}},
        "How far results of kernels may be off besides in generated tests, for each unit, for some dtypes.",
    ),
    Field(
        "fallback",
        "boolean",
        FLAG,
        "`false` if the function does not compute on devices without a kernel.",
    ),
)
_NAMES: Final = tuple([field.name for field in REFERENCE_FIELDS])


def read_reference(node: Node, builder: EntryBuilder) -> Reference | None:
    """Read the function, or a mapping with more about it."""
    if builder.schema is not None:
        reason = _misfit(builder.schema)
        if reason:
            message = f"`{builder.schema.name}` cannot have a reference: {reason}"
            builder.fault(library_codes.REFERENCE, message, node.span)
            return None
    if not isinstance(node, MappingNode):
        return _read_function(node, builder, Reference(""))
    sink = builder.context.sink
    check_fields(node, _NAMES, library_codes.REFERENCE, "a reference has", builder)
    tolerances, fallback = node.get("tolerances"), node.get("fallback")
    is_fallback = True if fallback is None else expect_boolean(fallback, "`fallback`", sink)
    builder.failed |= is_fallback is None
    read = () if tolerances is None else _read_tolerances(tolerances, builder)
    function = node.get("function")
    if function is None:
        builder.fault(library_codes.REFERENCE, "a reference lacks `function`", node.span, help=_HELP)
        return None
    return _read_function(function, builder, Reference("", read, is_fallback is not False))


def _read_function(node: Node, builder: EntryBuilder, reference: Reference) -> Reference | None:
    if not isinstance(node, Scalar) or node.kind != "str":
        builder.fault(
            library_codes.REFERENCE, f"a reference is a Python function, not {node.description}", node.span, help=_HELP
        )
        return None
    if not is_python_function(node.value):
        builder.fault(library_codes.REFERENCE, f"`{node.value}` names no Python function", node.span, help=_HELP)
        return None
    return reference._replace(path=node.value)


def _read_tolerances(node: Node, builder: EntryBuilder) -> tuple[tuple[str, float], ...]:
    mapping = expect_mapping(node, "`tolerances`", builder.context.sink)
    builder.failed |= mapping is None
    tolerances = []
    for key, value in () if mapping is None else mapping.entries:
        number = _number(value)
        if key.value not in TORCH_DTYPES.values():
            help = did_you_mean(key.value, list(TORCH_DTYPES.values()))
            builder.fault(library_codes.REFERENCE, f"there is no dtype `{key.value}`", key.span, help=help)
        elif number is None:
            message = f"the tolerance of `{key.value}` is {value.description}, and has to be a positive number"
            builder.fault(library_codes.REFERENCE, message, value.span)
        else:
            tolerances.append((key.value, number))
    return tuple(tolerances)


def _number(node: Node) -> float | None:
    """A positive number; None for anything else. YAML reads `1e-3` as a text."""
    try:
        number = float(node.value) if isinstance(node, Scalar) else 0.0
    except ValueError:
        return None
    return number if 0 < number < float("inf") else None


def _misfit(schema: FunctionSchema) -> str:
    """Why an operator cannot have a reference; empty if it can."""
    if schema.kind is SchemaKind.out:
        return "it writes its results into arguments, and the overload without them can have one"
    if any(result.annotation is not None and not result.annotation.is_write for result in schema.returns):
        return "a result is a view of an argument"
    if not schema.returns and not schema.arguments.writes:
        return "it returns nothing and writes to no argument"
    if not all(result.type.text in ("Tensor", "Tensor[]") for result in schema.returns):
        return "it returns something else than tensors"
    if not any(argument.type.is_tensor_like for argument in schema.arguments.all):
        return "it takes no tensor"
    return ""
