"""Schemas that may have the tags `inplace` and `out`, outside PyTorch's files.

PyTorch's tracing asks these tags how to functionalize an operator and what its results are, and `torch.library.define`
refuses them elsewhere; `m.def` in C++ does not, and tracing fails then. Names say nothing here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from opwright.schema.function import Argument, FunctionSchema, Return
from opwright.schema.types import TENSOR


def fits_inplace(schema: FunctionSchema) -> bool:
    """Whether an operator writes to its first argument, a tensor, and to no other, and returns it alone.

    >>> from opwright.syntax.dispatcher_schemas import read_written_schema
    >>> texts = ["f(Tensor(a!) x) -> Tensor(a!)", "f_(Tensor(a!)[] self) -> ()", "f(*, Tensor(a!) x) -> Tensor(a!)"]
    >>> [fits_inplace(read_written_schema(text)) for text in texts]
    [True, False, False]
    """
    arguments = schema.arguments
    written = _written(schema)
    is_first = written == list(arguments.positional[:1])
    return is_first and _are_returned(written, schema.returns) and schema.returns[0].type is TENSOR


def fits_out(schema: FunctionSchema) -> bool:
    """Whether an operator writes only to tensors that are passed by name, and returns these in their order.

    >>> from opwright.syntax.dispatcher_schemas import read_written_schema
    >>> texts = ["f(Tensor x, *, Tensor(a!) y) -> Tensor(a!)", "f(Tensor x, *, Tensor(a!) out) -> ()"]
    >>> [fits_out(read_written_schema(text)) for text in texts]
    [True, False]
    """
    written = _written(schema)
    is_by_name = not any(argument.is_write for argument in schema.arguments.positional)
    return is_by_name and _are_returned(written, schema.returns)


def _written(schema: FunctionSchema) -> list[Argument]:
    return [argument for argument in schema.arguments.all if argument.is_write]


def _are_returned(written: list[Argument], returns: tuple[Return, ...]) -> bool:
    """Whether there are written tensors, and the results are these."""
    if not written or len(written) != len(returns):
        return False
    return all(
        argument.type is TENSOR and result.type.list_like is None and result.annotation is argument.annotation
        for argument, result in zip(written, returns, strict=True)
    )


#: Tag -> which schemas may have it, and what the operator does then.
TAG_RULES: Final[Mapping[str, tuple[Callable[[FunctionSchema], bool], str]]] = {
    "inplace": (fits_inplace, "writes to its first argument, a `Tensor`, and to no other, and returns it alone"),
    "out": (fits_out, "writes only to arguments `Tensor` after `*`, and returns these in their order"),
}
