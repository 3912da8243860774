"""Groups of overloads: those of one operation, and those around one view."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from opwright.dialects.native_functions.group_rules import check_group, check_ungrouped, check_view_group
from opwright.dialects.native_functions.operations import Operation
from opwright.dialects.native_functions.report import CrossReport
from opwright.model.native_function import (
    NativeFunction,
    NativeFunctionsGroup,
    UnlinkedFunction,
    ViewGroup,
    ViewKind,
    link_functions,
)
from opwright.schema.function import SchemaKind
from opwright.schema.signature import SignatureKey, signature_key
from opwright.source import codes
from opwright.source.named_tuple import NamedTuple

ViewFamily = dict["SchemaKind | ViewKind", UnlinkedFunction]


class Linked(NamedTuple):
    """The linked functions of a catalog and their groups, in which functions without a group stand for themselves."""

    functions: tuple[NativeFunction, ...]
    groups: tuple[NativeFunction | NativeFunctionsGroup, ...]
    view_groups: tuple[NativeFunction | ViewGroup, ...]


def link(
    functions: Iterable[UnlinkedFunction],
    operations: Iterable[Operation],
    keyed: Iterable[tuple[UnlinkedFunction, SignatureKey]],
    report: CrossReport,
) -> Linked:
    """Groups functions by their operations and by their views, links them, and then checks the groups."""
    families = view_families(keyed, report)
    by_operation = [(operation, _operation_group(operation)) for operation in operations]
    by_view = [(_view_group(family), family) for family in families]
    linked = link_functions(
        functions,
        [group for _, group in by_operation if group is not None],
        [group for group, _ in by_view if group is not None],
    )
    groups: list[UnlinkedFunction | NativeFunctionsGroup] = []
    for operation, group in by_operation:
        if group is None:
            check_ungrouped(operation, report)
            groups.extend(operation.members.values())
        else:
            check_group(group, report)
            groups.append(group)
    view_groups: list[UnlinkedFunction | ViewGroup] = []
    for view_group, others in by_view:
        if view_group is not None:
            check_view_group(view_group, report)
            view_groups.append(view_group)
        view_groups.extend(others.values())
    return Linked(
        linked,
        cast("tuple[NativeFunction | NativeFunctionsGroup, ...]", tuple(groups)),
        cast("tuple[NativeFunction | ViewGroup, ...]", tuple(view_groups)),
    )


def _operation_group(operation: Operation) -> NativeFunctionsGroup | None:
    """The group of an operation's overloads; None if it lacks a member that every group has."""
    members = cast("dict[SchemaKind, NativeFunction]", operation.members)
    functional, out = members.get(SchemaKind.functional), members.get(SchemaKind.out)
    if functional is None or out is None or SchemaKind.scratch in members:
        return None
    return NativeFunctionsGroup(functional, out, members.get(SchemaKind.inplace), members.get(SchemaKind.mutable))


def _view_group(family: ViewFamily) -> ViewGroup | None:
    """The group around the view of a family, whose members leave the family; None if it has no view."""
    members = cast("dict[SchemaKind | ViewKind, NativeFunction]", family)
    view = members.pop(ViewKind.aliasing, None)
    if view is None:
        return None
    inplace = members.pop(ViewKind.aliasing_inplace, None)
    return ViewGroup(view, members.pop(SchemaKind.functional, None), inplace)


def view_families(keyed: Iterable[tuple[UnlinkedFunction, SignatureKey]], report: CrossReport) -> list[ViewFamily]:
    """For each view, the functions that belong to it by their role, in the order of the first of them."""
    families: dict[SignatureKey, ViewFamily] = {}
    for function, key in keyed:
        if function.name.base.endswith(("_copy", "_scatter")):
            key = signature_key(function.schema, view_form=True)
        kind = function.view_kind if function.is_view else function.kind
        family = families.get(key)
        if family is None:
            family = families[key] = {}
        earlier = family.setdefault(kind, function)
        if earlier is not function and (earlier.name.base, earlier.kind) != (function.name.base, function.kind):
            message = f"`{function.name}` and `{earlier.name}` have the same role for one view"
            report.error(codes.VIEW_TWICE, message, report.name(function), also=report.other(earlier, "the other one"))
    return list(families.values())
