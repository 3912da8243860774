"""Which overload of an operator a policy of autocast calls."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from opwright.model.native_function import NativeFunction


def overloads_with_dtype(function: NativeFunction, overloads: Iterable[NativeFunction]) -> Iterator[NativeFunction]:
    """Overloads that take the arguments of a function and a dtype after them.

    Loading reports a function with a policy that needs one if there is none with its condition.
    """
    type_texts = [argument.type.text for argument in function.arguments.all]
    for overload in overloads:
        types = [argument.type.text for argument in overload.arguments.all]
        is_named_alike = overload.namespace == function.namespace and overload.name.base == function.name.base
        if is_named_alike and types in ([*type_texts, "ScalarType"], [*type_texts, "ScalarType?"]):
            yield overload
