"""Results that an operator saves for its backward pass and does not return.

The kernel of the entry is that of an internal operator with all results, which has the derivative. The operator itself
calls that one, and returns the results that callers see.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from opwright.dialects.native_functions.entry_builder import EntryBuilder
from opwright.libraries import library_codes
from opwright.libraries.entry_fields import library_fields
from opwright.model.dispatch_key import COMPOSITE_IMPLICIT
from opwright.model.native_function import Kernel, UnlinkedFunction
from opwright.schema.function import FunctionSchema, Return, SchemaKind, make_return
from opwright.schema.names import OperatorName
from opwright.source.diagnostic import did_you_mean
from opwright.source.expect import expect_strings
from opwright.source.nodes import Node

#: The field of an entry.
SAVED: Final = "saved"

#: Fields of entries that have other forms of the operator, which would return what is saved.
_OTHER_FORMS: Final = ("autogen", "contracts", "structured_delegate", "structured")


def read_saved(node: Node, builder: EntryBuilder) -> tuple[str, ...] | None:
    """Read the names of the results that the operator does not return."""
    items = expect_strings(node, f"`{SAVED}`", builder.context.sink)
    schema = builder.schema
    if items is None or schema is None:
        builder.failed = True
        return None
    names = [result.name for result in schema.returns if result.name is not None]
    for item in items:
        if item.value not in names:
            help = did_you_mean(item.value, names, "name the results in `func`: `-> (Tensor mean, Tensor count)`")
            builder.fault(library_codes.SAVED, f"`{schema.name}` has no result `{item.value}`", item.span, help=help)
    saved = tuple(dict.fromkeys([item.value for item in items]))
    reason = _misfit(schema, saved, builder)
    if reason and not builder.failed:
        builder.fault(library_codes.SAVED, f"`{schema.name}` cannot save results: {reason}", node.span)
    builder.set_field("written", schema)
    builder.internal_schema = _internal_schema(schema)
    return saved


def _misfit(schema: FunctionSchema, saved: tuple[str, ...], builder: EntryBuilder) -> str:
    """Why an operator cannot save results; empty if it can."""
    if schema.kind is not SchemaKind.functional or schema.arguments.writes:
        return "it writes to an argument"
    if any(result.annotation is not None for result in schema.returns):
        return "a result is a view of an argument"
    if len(saved) == len(schema.returns):
        return "it returns none of them"
    other = next((field for field in _OTHER_FORMS if builder.node.get(field) is not None), None)
    return f"`{other}` makes other forms of it" if other else ""


def _internal_schema(schema: FunctionSchema) -> FunctionSchema:
    """Schema of the operator with all results.

    >>> from opwright.schema import parse_schema
    >>> print(_internal_schema(parse_schema("mean.dim(Tensor self, int dim) -> (Tensor mean, Tensor count)")))
    _mean_saved.dim(Tensor self, int dim) -> (Tensor mean, Tensor count)
    """
    name = OperatorName(f"_{schema.name.base}_saved", overload=schema.name.overload)
    return FunctionSchema(name, schema.arguments, schema.returns)


def public_operators(functions: Iterable[UnlinkedFunction]) -> list[UnlinkedFunction]:
    """Operators that call those which save results."""
    return [_public(function) for function in functions if library_fields(function).saved]


def _public(internal: UnlinkedFunction) -> UnlinkedFunction:
    fields = library_fields(internal)
    assert fields.written is not None, "what saves results has the schema of its entry"
    schema, results = _public_schema(fields.written, fields.saved), fields.written.returns
    # The author's kernel may have the name of the operator.
    kernel = f"{schema.name.unambiguous}_returned{'_symint' if schema.has_symint else ''}"
    outputs = tuple([output for output in fields.outputs if output.name not in fields.saved])
    made_fields = fields.made(
        allows_overlap=False,
        outputs=outputs,
        # What the operator needs is checked where the one that it calls is.
        requirements=None,
        returned=tuple([place for place, result in enumerate(results) if result.name not in fields.saved]),
        returned_from=internal.schema,
        reference=fields.reference,
        samples=fields.samples,
        sample_generator=fields.sample_generator,
        draws_samples=fields.draws_samples,
    )
    composite = Kernel(COMPOSITE_IMPLICIT, kernel, internal.library.native, False)
    entry_fields = {"cpp_no_default_args": internal.cpp_no_default_args, "const_ref_mutables": False}
    return internal.made(schema, composite, entry_fields, made_fields)


def _public_schema(schema: FunctionSchema, saved: tuple[str, ...]) -> FunctionSchema:
    """Schema without the results that are saved; a single result needs no name.

    >>> from opwright.schema import parse_schema
    >>> print(_public_schema(parse_schema("mean(Tensor self) -> (Tensor mean, Tensor count)"), ("count",)))
    mean(Tensor self) -> Tensor
    """
    returns: list[Return] = [result for result in schema.returns if result.name not in saved]
    if len(returns) == 1:
        returns = [make_return(None, returns[0].type)]
    return FunctionSchema(schema.name, schema.arguments, tuple(returns))
