"""Contracts: functional, out and in-place overloads of an operator whose kernel writes its results into arguments."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from opwright.dialects.native_functions.entry_builder import EntryBuilder
from opwright.dialects.native_functions.variants import synthesized
from opwright.libraries import library_codes
from opwright.libraries.entry_fields import library_fields
from opwright.model.native_function import UnlinkedFunction
from opwright.schema.function import (
    Argument,
    FunctionSchema,
    SchemaKind,
    argument_list,
    make_argument,
    make_return,
)
from opwright.schema.names import OperatorName
from opwright.schema.types import TENSOR
from opwright.source.diagnostic import did_you_mean
from opwright.source.expect import expect_strings
from opwright.source.nodes import Node

#: The field of an entry, and the contracts that it may name.
FIELD: Final = "contracts"
CONTRACTS: Final = ("functional", "out", "inplace")


def result_schema(schema: FunctionSchema) -> FunctionSchema:
    """Schema of the functional overload: what the operator writes are its results, with the names of the arguments.

    >>> from opwright.syntax.dispatcher_schemas import read_written_schema
    >>> print(result_schema(read_written_schema("norm(Tensor! result, Tensor input, float eps) -> ()")))
    norm.functional(Tensor input, float eps) -> Tensor result
    """
    returns = tuple([make_return(argument.name, argument.type) for argument in _written(schema)])
    name = OperatorName(schema.name.base, overload=_overload(schema, "functional"), dunder=schema.name.dunder)
    positional, by_name = _read_arguments(schema)
    return FunctionSchema(name, argument_list(positional, by_name), returns)


def _written(schema: FunctionSchema) -> list[Argument]:
    return [argument for argument in schema.arguments.all if argument.is_write]


def _overload(schema: FunctionSchema, contract: str) -> str:
    return f"{schema.name.overload}_{contract}" if schema.name.overload else contract


def _read_arguments(schema: FunctionSchema) -> tuple[tuple[Argument, ...], tuple[Argument, ...]]:
    """Arguments that are not written: those by position, and those by name."""
    arguments = schema.arguments
    return (
        tuple([argument for argument in arguments.positional if not argument.is_write]),
        tuple([argument for argument in arguments.keyword_only if not argument.is_write]),
    )


def _out_schema(schema: FunctionSchema) -> FunctionSchema:
    """Schema that writes to out arguments; a single one is `out`, as compiled programs call it."""
    written = tuple(_written(schema))
    if len(written) == 1 and all(argument.name != "out" for argument in schema.arguments.all):
        written = (make_argument("out", TENSOR, None, written[0].annotation),)
    name = OperatorName(schema.name.base, overload=_overload(schema, "out"), dunder=schema.name.dunder)
    returns = tuple([make_return(None, argument.type, argument.annotation) for argument in written])
    return FunctionSchema(name, argument_list(*_read_arguments(schema), written), returns)


def _inplace_schema(schema: FunctionSchema) -> FunctionSchema:
    """Schema that writes to `self` what the operator writes to its result."""
    (written,) = _written(schema)
    positional, by_name = _read_arguments(schema)
    self_argument = make_argument("self", TENSOR, None, written.annotation)
    name = OperatorName(schema.name.base, overload=schema.name.overload, inplace=True, dunder=schema.name.dunder)
    returns = (make_return(None, self_argument.type, self_argument.annotation),)
    return FunctionSchema(name, argument_list((self_argument, *positional[1:]), by_name), returns)


_SCHEMAS: Final = {"functional": result_schema, "out": _out_schema, "inplace": _inplace_schema}


def read_contracts(node: Node, builder: EntryBuilder) -> tuple[str, ...] | None:
    """Read the field `contracts` of an entry. The tag `out` is that of the out overload."""
    items = expect_strings(node, f"`{FIELD}`", builder.context.sink)
    if items is None:
        builder.failed = True
        return None
    for item in items:
        if item.value not in CONTRACTS:
            help = did_you_mean(item.value, CONTRACTS, f"the contracts are {', '.join(CONTRACTS)}")
            builder.fault(library_codes.CONTRACT, f"there is no contract `{item.value}`", item.span, help=help)
    if builder.failed or builder.schema is None:
        return None
    contracts = tuple(dict.fromkeys([item.value for item in items]))
    reason = _misfit(builder.schema, contracts)
    if not reason and builder.node.get("outputs") is None and builder.node.get("dims") is None:
        reason = "`outputs` does not say what it writes"
    if reason:
        message = f"`{builder.schema.name}` cannot have contracts: {reason}"
        builder.fault(library_codes.CONTRACT, message, node.span)
        return None
    made_tags = builder.tags & {"out"}
    builder.set_field("tags", builder.tags - made_tags)
    builder.set_field("made_tags", made_tags)
    builder.set_field("serves_inplace", "inplace" in contracts)
    return contracts


def _misfit(schema: FunctionSchema, contracts: tuple[str, ...]) -> str:
    """Why an operator cannot have some contracts; empty if it can."""
    written = _written(schema)
    if not written or schema.kind in (SchemaKind.inplace, SchemaKind.out) or schema.name.name.endswith("_"):
        return (
            "they are for operators that write results into arguments, as `norm(Tensor! result, Tensor x) -> ()` does"
        )
    unfit = next((argument for argument in written if argument.type is not TENSOR), None)
    if unfit is not None:
        return f"it writes to `{unfit}`, and results are of type `Tensor`"
    if any(result.annotation is None for result in schema.returns):
        return "it returns more than what it writes"
    if "inplace" in contracts:
        positional, _ = _read_arguments(schema)
        first_argument = positional[0] if positional else None
        if (
            first_argument is None
            or first_argument.name != "self"
            or first_argument.type is not TENSOR
            or len(written) > 1
        ):
            return "an in-place overload has one result, and `Tensor self` is its first argument"
    return ""


def contract_overloads(functions: Iterable[UnlinkedFunction]) -> list[UnlinkedFunction]:
    """Overloads for the contracts of functions, whose kernels call them."""
    overloads = []
    for function in functions:
        fields = library_fields(function)
        written = frozenset([argument.name for argument in _written(function.schema)])
        for contract in fields.contracts:
            schema = _SCHEMAS[contract](function.schema)
            differing = {
                "contract_of": function.schema,
                "outputs": () if contract == "inplace" else fields.outputs,
                "requirements": None if fields.requirements is None else fields.requirements.without(written),
            }
            # What the results were before has no part in them.
            differing |= {"reference": fields.reference} if contract == "functional" else {}
            tags = {"functional": frozenset[str](), "out": fields.made_tags, "inplace": frozenset(("inplace",))}
            overloads.append(
                synthesized(function, schema, schema.name.unambiguous, tags[contract], fields.made(**differing))
            )
    return overloads
