"""Functional forms of operators that write: which operator does the same and writes to no argument."""

from __future__ import annotations

from collections.abc import Iterable

from opwright.model.library import PYTORCH
from opwright.model.native_function import NativeFunction
from opwright.schema.function import SchemaKind
from opwright.schema.signature import signature_key

__all__ = ["functional_form", "is_functionalized_by_pytorch"]


def is_functionalized_by_pytorch(function: NativeFunction) -> bool:
    """Whether `torch.compile` functionalizes an operator that has no group without a kernel for it.

    PyTorch does so for operators outside `aten` that write to arguments and return none of them.

    >>> import opwright
    >>> is_functionalized_by_pytorch(opwright.load(torch="auto")["record_stream"])
    False
    """
    return function.library is not PYTORCH and all(result.annotation is None for result in function.schema.returns)


def functional_form(function: NativeFunction, functions: Iterable[NativeFunction]) -> NativeFunction | None:
    """The operator among some that does what another one does, and writes to no argument; None if there is none.

    >>> import opwright
    >>> catalog = opwright.load(torch="auto")
    >>> functional_form(catalog["sinh_"], catalog.functions)
    <native function aten::sinh>
    """
    if function.group is not None:
        return function.group.functional
    operation = [other for other in functions if other.root_name == function.root_name and other is not function]
    functional = [other for other in operation if other.kind is SchemaKind.functional and not other.is_view]
    key = signature_key(function.schema)
    return next((other for other in functional if signature_key(other.schema) == key), None)
