"""Results of Python calls: named results, and the C++ types that have a conversion to Python objects."""

from __future__ import annotations

from functools import cache
from typing import Final

from opwright.convention import public_api, shared_types
from opwright.convention.caching import per_function
from opwright.model.native_function import NativeFunction
from opwright.schema.function import Return, make_return

#: C++ types with a conversion to Python objects.
WRAPPED: Final = frozenset(
    {
        "void", "void*", "bool", "int64_t", "double", "at::Scalar", "at::QScheme", "at::IntArrayRef", "at::ScalarType",
        "at::Stream", "::std::vector<at::Tensor>", "at::Tensor",
    }
    | {f"::std::tuple<{','.join(['at::Tensor'] * count)}>" for count in range(2, 7)}
    | {
        f"::std::tuple<{items}>"
        for items in (
            "double,int64_t",
            "at::Tensor,::std::vector<at::Tensor>",
            "at::Tensor,at::Tensor,at::Tensor,int64_t",
            "at::Tensor,at::Tensor,double,int64_t",
            "at::Tensor,at::Tensor,at::Tensor,at::Tensor,int64_t",
            "at::Tensor,at::Tensor,double,at::Tensor,int64_t",
            "at::Tensor,at::Tensor,at::Tensor,at::Tensor,c10::SymInt,c10::SymInt,at::Tensor,at::Tensor,at::Tensor",
        )
    }
)  # fmt: skip


class NotWrapped(Exception):
    """A result has no conversion to a Python object; the message is its C++ type."""


class NoFieldName(Exception):
    """Only some results have names; the message names the operator."""


@per_function
def field_names(function: NativeFunction) -> tuple[str, ...]:
    """The names of an overload's results, as attributes of the returned tuple; empty if they have none."""
    try:
        return names_of(function.schema.returns)
    except NoFieldName:
        raise NoFieldName(function.name.text) from None


def names_of(returns: tuple[Return, ...]) -> tuple[str, ...]:
    """The names of several results; empty if they have none. Raises NoFieldName if only some have one."""
    names = tuple([result.name for result in returns if result.name is not None])
    if len(returns) < 2 or not names:
        return ()
    if len(names) < len(returns):
        raise NoFieldName(", ".join(names))
    return names


@per_function
def struct_key(function: NativeFunction) -> str:
    """A key that is equal for overloads whose results have the same Python class."""
    return "_".join((public_api.name(function.schema), *field_names(function)))


def result_type(function: NativeFunction) -> str:
    """The C++ type that the lambda of the overload returns.

    Written arguments are returned by value: a reference would dangle, since the lambda takes them by value.
    """
    return _result_type(function.schema.returns)


@cache
def _result_type(returns: tuple[Return, ...]) -> str:
    plain = tuple(make_return(result.name, result.type) for result in returns)
    return shared_types.returns_type(plain).text
