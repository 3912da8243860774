"""Overloads that are made from others: the names of `torchgen.native_function_generation`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from opwright.dialects.native_functions.operations import operations_of
from opwright.dialects.native_functions.report import CrossReport
from opwright.dialects.native_functions.variants import add_variants, free_letters, inplace_to_out, returning_to_out
from opwright.release.operator_names.loading import (
    LONE_INPLACE_OVERLOADS,
    LONE_OUT_OVERLOADS,
    WITHOUT_TENSOR_RESULT,
)
from opwright.schema.function import FunctionSchema as ModelSchema
from opwright.schema.signature import signature_key
from opwright.source.diagnostic import Diagnostics
from opwright.source.render import render_short
from opwright.torchgen.interface.faults import Invalid
from opwright.torchgen.interface.functions import (
    BackendMetadata,
    NativeFunction,
    function_of,
    metadata_of,
    model_function,
)
from opwright.torchgen.interface.generator import by_operation
from opwright.torchgen.interface.keys import DispatchKey, SchemaKind
from opwright.torchgen.interface.schema import FunctionSchema, model_schema, schema_of
from opwright.torchgen.interface.types import OperatorName, name_of

#: Operators that match no others, or of which no out overload can be made.
OUT_OPS_THAT_DONT_GET_GROUPED_PROPERLY: Final = sorted(LONE_OUT_OVERLOADS.in_any_release)
INPLACE_OPS_THAT_DONT_GET_GROUPED_PROPERLY: Final = sorted(LONE_INPLACE_OVERLOADS.in_any_release)
FUNCTIONAL_OPS_THAT_CANNOT_GET_AN_OUT_VARIANT: Final = sorted(WITHOUT_TENSOR_RESULT.in_any_release)


def pre_group_native_functions(
    native_functions: Sequence[NativeFunction],
) -> dict[FunctionSchema, dict[SchemaKind, NativeFunction]]:
    """Functions by the schema that all overloads of an operation share, and by their kinds."""
    operations = by_operation(native_functions).values()
    return {next(iter(members.values())).func.signature(): members for members in operations}


def get_expected_out_variant_overload_name(overload_name: str | None) -> str:
    """Overload name of an out overload that is made from another one."""
    return f"{overload_name}_out" if overload_name else "out"


def self_to_out_signature(func: FunctionSchema) -> FunctionSchema:
    """Out overload made from an in-place one."""
    _require(func, SchemaKind.inplace)
    return schema_of(inplace_to_out(model_schema(func)))


def functional_to_out_signature(func: FunctionSchema) -> FunctionSchema:
    """Out overload made from a functional one."""
    _require(func, SchemaKind.functional)
    return _out_form(model_schema(func), keep_annotations=False)


def mutable_to_out_signature(func: FunctionSchema) -> FunctionSchema:
    """Out overload made from a mutable one."""
    _require(func, SchemaKind.mutable)
    return _out_form(model_schema(func), keep_annotations=True)


def _require(func: FunctionSchema, kind: SchemaKind) -> None:
    if func.kind() is not kind:
        raise Invalid(f"`{func}` is not {kind.name}")


def _out_form(schema: ModelSchema, *, keep_annotations: bool) -> FunctionSchema:
    letters = free_letters(schema)
    if (
        not all(result.type.is_tensor_like for result in schema.returns)
        or not schema.returns
        or len(letters) < len(schema.returns)
    ):
        raise Invalid(f"no out overload can be made of `{schema}`, which returns something else than tensors")
    return schema_of(returning_to_out(schema, letters, keep_annotations=keep_annotations))


def add_generated_native_functions(
    rs: list[NativeFunction], indices: dict[DispatchKey, dict[OperatorName, BackendMetadata]]
) -> None:
    """Add the overloads that are made from others to functions, and their kernels to kernels."""
    sink = Diagnostics()
    functions = [model_function(function) for function in rs]
    report = CrossReport(sink)
    report.functions = functions
    operations = operations_of([(function, signature_key(function.schema)) for function in functions], report)
    variants = [variant for operation in operations for variant in add_variants(operation, True, report)]
    if sink.has_errors:
        raise Invalid(render_short(sink))
    for variant in variants:
        rs.append(function_of(variant))
        for key, kernel in variant.kernels.items():
            indices.setdefault(DispatchKey[key.name], {})[name_of(variant.name)] = metadata_of(kernel)
