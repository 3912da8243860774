"""The arguments and results of an overload, what it needs of them, and its operation."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from opwright.backends.operator_records import shown_name
from opwright.dialects.native_functions.fields import ROWS
from opwright.libraries.dialect.fields import ROWS as LIBRARY_ROWS
from opwright.libraries.emit.python.output_text import described_expression
from opwright.libraries.entry_fields import NO_LIBRARY_FIELDS, Autocast, Reference, library_fields, requirements_of
from opwright.libraries.requirements import Requirement, ValueCondition, index_name
from opwright.model.native_function import NO_FIELDS, NativeFunction, Precomputed
from opwright.schema.function import SchemaKind
from opwright.tools.explain.records import (
    ArgumentRecord,
    FilePlace,
    MemberRecord,
    OperationRecord,
    RequirementsRecord,
    ResultRecord,
    SchemaRecord,
    SizesRecord,
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
        if argument in arguments.out:
            role = "out"
        elif argument in options:
            role = "option"
        elif argument.is_write:
            role = "written"
        else:
            role = "input" if argument.annotation is None else "viewed"
        alias = "" if argument.annotation is None else argument.annotation.text
        records.append(
            ArgumentRecord(argument.name, argument.type.text, role, argument not in positional, argument.default, alias)
        )
    return SchemaRecord(tuple(records), tuple(_results(function)))


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
        (LIBRARY_ROWS, library_fields(function), NO_LIBRARY_FIELDS),
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


#: What refused calls are told before what has to be: `x` has rank 2, and has to have rank 1.
_IS: Final = re.compile(r" (?:has|are|is) (?!to ).*?, and (?=(?:has|have) to )")
_IS_NOT: Final = re.compile(r" is not (.*), and has to be$")


def requirements_record(function: NativeFunction) -> RequirementsRecord | None:
    """What an overload needs, of which nothing is said if its entry says nothing."""
    requirements, reference = requirements_of(function), library_fields(function).reference
    if requirements is None and reference is None:
        return None
    sizes = [] if requirements is None else [SizesRecord(name, dims.text) for name, dims in requirements.dims]
    conditions: list[str] = []
    if requirements is not None:
        names = [result.name for result in function.schema.returns]
        results = [name or (f"result{index}" if len(names) > 1 else "return") for index, name in enumerate(names)]
        patterns = zip(results, requirements.results, strict=False)
        sizes += [SizesRecord(name, dims.text) for name, dims in patterns if dims is not None]
        conditions += [required_text(requirement) for requirement in requirements.checks]
        conditions += [
            f"the kernel gets a copy of `{argument.name}` if it is not {words[1]}"
            for argument in requirements.copied
            if (words := _IS_NOT.search(str(argument.refusal.message[-1]))) is not None
        ]
        conditions += [_value_text(value) for value in requirements.values]
        conditions += _sums(function, results)
    return RequirementsRecord(tuple(sizes), tuple(conditions), "" if reference is None else reference.path)


def _value_text(value: ValueCondition) -> str:
    name = f"each of `{value.name}`" if value.each else f"`{value.name}`"
    if value.condition is None:
        return f"the values of {name} have to be {value.written}"
    return f"the values of {name} fulfil `{value.written}`"


def _sums(function: NativeFunction, results: list[str]) -> Iterator[str]:
    requirements = requirements_of(function)
    assert requirements is not None
    if requirements.linear:
        names = ", ".join([f"`{name}`" for name in requirements.linear])
        yield f"the results are linear in {names}{', taken together' if len(requirements.linear) > 1 else ''}"
    for name, is_sum in zip(results, requirements.sums, strict=False):
        if is_sum:
            yield f"`{name}` is a sum over the dimensions that are computed one by one"


def required_text(requirement: Requirement) -> str:
    """What has to hold, from the message for calls for which it does not.

    Expressions stand for the values that messages show.
    """
    parts = requirement.message
    # Conditions of the author's are followed by the values of what they name.
    has_values = len(parts) > 1 and str(parts[1]).startswith((", and `", " and `"))
    shown = parts[:1] if has_values else parts
    texts = [part if isinstance(part, str) else described_expression(part) for part in shown]
    text = _IS_NOT.sub(r" has to be \1", _IS.sub(" ", "".join(texts), count=1))
    if requirement.each:
        text = text.replace(f"`{requirement.each}[{index_name(requirement.each)}]`", f"each of `{requirement.each}`")
    names = [f"`{argument.text}`" for argument in requirement.given]
    given = f", if {' and '.join(names)} {'is' if len(names) == 1 else 'are'} given" if names else ""
    condition = requirement.written
    return f"{text}{f': `{condition}`' if condition and f'`{condition}`' not in text else ''}{given}"
