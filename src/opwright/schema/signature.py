"""Signatures: what the variants of one operation have in common."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Final

from opwright.schema.function import (
    Argument,
    Arguments,
    FunctionSchema,
    argument_list,
    make_argument,
    make_return,
)
from opwright.schema.names import OperatorName, parsed_operator_name

#: The base names of views and of their copying and inverse forms: `x_copy` goes with `x`, `x_scatter` with `x_inverse`.
_COPY: Final = "_copy"
_SCATTER: Final = "_scatter"


@cache
def base_of_operation(name: str) -> str:
    """Base name that all overloads of an operator share; a view shares it with its copying form.

    >>> base_of_operation("aten::add_.Tensor"), base_of_operation("slice_copy.Tensor_out")
    ('add', 'slice')
    """
    return view_base_name(parsed_operator_name(name.rpartition("::")[2].partition(".")[0], "").base)


def view_base_name(base: str) -> str:
    """Base name that a view shares with its copying form and its inverse.

    >>> view_base_name("slice_copy"), view_base_name("slice_scatter")
    ('slice', 'slice_inverse')
    """
    if base.endswith(_COPY):
        return base[: -len(_COPY)]
    if base.endswith(_SCATTER):
        return base[: -len(_SCATTER)] + "_inverse"
    return base


def plain_argument(original: Argument, *, strip_default: bool = False) -> Argument:
    """Argument without its annotation, and without its default if `strip_default`."""
    default = None if strip_default else original.default
    if original.annotation is None and default is original.default:
        return original
    return make_argument(original.name, original.type, default)


def unreturned_writes(schema: FunctionSchema) -> Iterator[Argument]:
    """Arguments that are written but not returned: `self`, then outs, then the others.

    In the functional form of the operation they become additional returns.
    """
    arguments = schema.arguments
    seen = {result.annotation for result in schema.returns}
    first = (arguments.self_arg,) if arguments.self_arg is not None else ()
    for candidate in (*first, *arguments.out, *arguments.pre_self, *arguments.post_self):
        if candidate.is_write and candidate.annotation not in seen:
            yield candidate


def signature(
    schema: FunctionSchema,
    *,
    strip_default: bool = False,
    view_form: bool = False,
    keep_return_names: bool = False,
) -> FunctionSchema:
    """Functional schema, without overload and tensor options, that all variants of an operation share.

    `strip_default` drops defaults; `view_form` maps the names of copying and inverse forms to that of the view;
    `keep_return_names` keeps the names of returns and names those that come from written arguments `NAME_out`.

    >>> from opwright.schema import parse_schema
    >>> print(signature(parse_schema("add_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)")))
    add(Tensor self, Tensor other) -> Tensor
    """
    name = schema.name
    base = view_base_name(name.base) if view_form else name.base
    results = tuple(make_return(result.name if keep_return_names else None, result.type) for result in schema.returns)
    more = tuple(
        make_return(f"{argument.name}_out" if keep_return_names else None, argument.type)
        for argument in unreturned_writes(schema)
    )
    return FunctionSchema(
        OperatorName(base, dunder=name.dunder), _plain_arguments(schema, strip_default), results + more
    )


def _plain_arguments(schema: FunctionSchema, strip_default: bool) -> Arguments:
    arguments = schema.arguments
    options = arguments.pre_options + arguments.post_options
    positional = tuple(plain_argument(parameter, strip_default=strip_default) for parameter in arguments.positional)
    if schema.name.text == "bernoulli.p":
        # The only overload whose default was removed to keep calls unambiguous; its variants still have it.
        positional = tuple(
            make_argument(parameter.name, parameter.type, "0.5") if parameter.name == "p" else parameter
            for parameter in positional
        )
    return argument_list(
        positional, tuple(plain_argument(parameter, strip_default=strip_default) for parameter in options)
    )


SignatureKey = tuple[object, ...]


def signature_key(schema: FunctionSchema, *, strip_default: bool = False, view_form: bool = False) -> SignatureKey:
    """A value that is equal for two schemas if and only if their `signature` is; faster to make and to hash."""
    name, arguments = schema.name, schema.arguments
    if name.text == "bernoulli.p":
        arguments, strip_default = _plain_arguments(schema, strip_default), False
    listed = _arguments_key(arguments, strip_default)
    types = [result.type for result in schema.returns]
    if arguments.writes:
        types += [argument.type for argument in unreturned_writes(schema)]
    return (view_base_name(name.base) if view_form else name.base, name.dunder, listed, *types)


@cache
def _arguments_key(arguments: Arguments, strip_default: bool) -> SignatureKey:
    """Part of a key for the arguments, which many schemas share."""
    pre_self = len(arguments.pre_self) if arguments.self_arg is not None else -1
    options = arguments.pre_options + arguments.post_options
    if not strip_default and not arguments.has_annotations:
        return (pre_self, arguments.positional, options)
    return (
        pre_self,
        tuple([plain_argument(argument, strip_default=strip_default) for argument in arguments.positional]),
        tuple([plain_argument(argument, strip_default=strip_default) for argument in options]),
    )
