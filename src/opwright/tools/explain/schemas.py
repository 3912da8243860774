"""The arguments and results of an overload, and its operation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from opwright.dialects.native_functions.fields import ROWS
from opwright.libraries.dialect.fields import ROWS as LIBRARY_ROWS
from opwright.model.library import NO_LIBRARY_FIELDS, Autocast, Reference
from opwright.model.native_function import NO_FIELDS, NativeFunction, Precomputed
from opwright.plugins.operator_records import shown_name
from opwright.schema.function import Argument, SchemaKind
from opwright.tools.explain.records import (
    ArgumentRecord,
    FilePlace,
    MemberRecord,
    OperationRecord,
    ResultRecord,
    SchemaRecord,
)

_KINDS: Final = {
    SchemaKind.functional: "functional",
    SchemaKind.inplace: "in-place",
    SchemaKind.mutable: "mutable",
    SchemaKind.out: "out",
}


def place_of(function: NativeFunction) -> FilePlace:
    """Where the entry of an overload is, or that of the overload from which it is synthesized."""
    return FilePlace(function.entry.file.path, function.entry.line)


def schema_record(function: NativeFunction) -> SchemaRecord:
    """Roles of arguments and results.

    >>> import opwright
    >>> [(argument.name, argument.role) for argument in schema_record(opwright.load()["select.int"]).arguments]
    [('self', 'viewed'), ('dim', 'input'), ('index', 'input')]
    """
    arguments = function.arguments
    options = frozenset(() if arguments.options is None else arguments.options.all)
    positional = frozenset(arguments.positional)
    records = []
    for argument in arguments.all:
        role = "out" if argument in arguments.out else "option" if argument in options else _role(argument)
        alias = "" if argument.annotation is None else argument.annotation.text
        records.append(
            ArgumentRecord(argument.name, argument.type.text, role, argument not in positional, argument.default, alias)
        )
    return SchemaRecord(tuple(records), tuple(_results(function)))


def _role(argument: Argument) -> str:
    if argument.is_write:
        return "written"
    return "input" if argument.annotation is None else "viewed"


def _results(function: NativeFunction) -> Iterator[ResultRecord]:
    by_alias = {
        argument.annotation.text.rstrip("!"): argument.name
        for argument in function.arguments.all
        if argument.annotation is not None
    }
    for result in function.schema.returns:
        alias = "" if result.annotation is None else result.annotation.text.rstrip("!")
        yield ResultRecord(result.name or "", result.type.text, by_alias.get(alias, ""))


def operation_record(function: NativeFunction) -> OperationRecord:
    """Group of an overload, its variants, and the fields of its entry that change what is generated."""
    group, view_group = function.group, function.view_group
    members = [] if group is None else group.functions()
    views = [] if view_group is None else view_group.functions()
    view_roles = {}
    if view_group is not None:
        roles = ((view_group.view, "view"), (view_group.view_inplace, "in-place view"), (view_group.view_copy, "copy"))
        view_roles = {member: role for member, role in roles if member is not None}
    variants = (("function", function.function), ("method", function.method))
    structured = group.out if group is not None and function.in_structured_group else None
    return OperationRecord(
        view_roles.get(function) or _KINDS[function.kind],
        _synthesized_from(function),
        tuple([name for name, has_variant in variants if has_variant]),
        "" if structured is None else shown_name(structured),
        tuple([_member(member, _KINDS[member.kind]) for member in members]),
        tuple([_member(member, view_roles[member]) for member in views]),
        tuple(sorted(function.tags)),
        tuple(_facts(function)),
    )


def _member(function: NativeFunction, role: str) -> MemberRecord:
    return MemberRecord(shown_name(function), role, _synthesized_from(function), place_of(function))


def _synthesized_from(function: NativeFunction) -> str:
    """Overload whose entry a synthesized overload is made from; empty for an overload with an entry."""
    if not function.is_synthesized:
        return ""
    related = [] if function.group is None else function.group.functions()
    related += [] if function.view_group is None else function.view_group.functions()
    for member in related:
        if not member.is_synthesized and member.entry.start == function.entry.start:
            return shown_name(member)
    return function.name.base if not related else shown_name(related[0])


def _facts(function: NativeFunction) -> Iterator[str]:
    """Fields of an entry besides schema, variants, kernels and tags, in words."""
    if not function.library.defines_operators:
        yield "another library defines it, and says all but the kernels for these keys"
    for rows, record, default in (
        (ROWS, function, NO_FIELDS),
        (LIBRARY_ROWS, function.library_fields, NO_LIBRARY_FIELDS),
    ):
        for row in rows:
            if row.fact and (value := getattr(record, row.attribute)) != getattr(default, row.attribute):
                yield row.fact.format(_words(value))


def _words(value: object) -> str:
    match value:
        case Precomputed():
            return ", ".join([*value.replace, *[argument.name for argument in value.add]])
        case dict():
            return ", ".join(dict.fromkeys([loop.name for loop in value.values()]))
        case Autocast():
            of_devices = [f"{policy} on {name}" for name, policy in value.by_device]
            of_arguments = [f"{policy} for `{name}`" for name, policy in value.by_argument]
            return ", ".join([*filter(None, [value.everywhere]), *of_devices, *of_arguments])
        case Reference():
            return value.path
        case tuple():
            return ", ".join(map(str, value))
        case frozenset():
            return ", ".join(sorted(map(str, value)))
    return str(value)
