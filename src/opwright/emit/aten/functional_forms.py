"""Functional forms of operators that write: which operator does the same and writes to no argument."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from opwright.convention.dispatcher import returned_arguments
from opwright.model.native_function import NativeFunction
from opwright.schema.function import SchemaKind
from opwright.schema.signature import signature_key, unreturned_writes
from opwright.schema.tag_rules import TAG_RULES
from opwright.schema.types import TENSOR


def is_functionalized_by_pytorch(function: NativeFunction, *, has_tags: bool = True) -> bool:
    """Whether `torch.compile` functionalizes an operator that has no group without a kernel for it.

    PyTorch does so for operators outside `aten` that write to arguments and return new tensors or nothing, and for
    those with the tag `inplace` or `out`. `has_tags` says that such tags are registered.

    >>> import opwright
    >>> is_functionalized_by_pytorch(opwright.load(torch="auto")["record_stream"])
    False
    """
    if function.library.in_libtorch:
        return False
    if has_tags and not function.tags.isdisjoint(TAG_RULES):
        return True
    return all(result.type is TENSOR and result.annotation is None for result in function.schema.returns)


def functional_form(function: NativeFunction, functions: Iterable[NativeFunction]) -> NativeFunction | None:
    """Operator among some that does what another one does, and writes to no argument; None if there is none.

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


def by_root(functions: Iterable[NativeFunction]) -> Mapping[str, Sequence[NativeFunction]]:
    """Functions by the root of their names, among which is the functional form of each."""
    roots: dict[str, list[NativeFunction]] = {}
    for function in functions:
        roots.setdefault(function.root_name, []).append(function)
    return roots


def written_results(function: NativeFunction, results: Sequence[str]) -> dict[str, str]:
    """Result of the functional form that becomes the value of each written argument, in the order of arguments.

    PyTorch's operators take the last results in the order of their arguments, as its generator does, also where
    the functional form returns them in another one (`_native_batch_norm_legit.out`).
    """
    schema = function.schema
    writes = [argument.name for argument in function.arguments.all if argument.is_write]
    if not function.library.takes_any_schema:
        return dict(zip(writes, results[len(results) - len(writes) :], strict=True))
    names = [*returned_arguments(schema), *[argument.name for argument in unreturned_writes(schema)]]
    values = dict(zip(names, results, strict=True))
    return {name: values[name] for name in writes}
