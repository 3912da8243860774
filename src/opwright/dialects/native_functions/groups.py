"""Groups of overloads: those of one operation, and those around one view."""

from __future__ import annotations

from collections.abc import Iterable

from opwright.dialects.native_functions import cross_codes
from opwright.dialects.native_functions.group_rules import check_group, check_ungrouped, check_view_group
from opwright.dialects.native_functions.operations import Operation
from opwright.dialects.native_functions.report import CrossReport
from opwright.model.native_function import NativeFunction, NativeFunctionsGroup, ViewGroup, ViewKind
from opwright.schema.function import SchemaKind
from opwright.schema.signature import SignatureKey, signature_key

Family = dict["SchemaKind | ViewKind", NativeFunction]


def grouped(operations: Iterable[Operation], report: CrossReport) -> list[NativeFunction | NativeFunctionsGroup]:
    """The groups of all operations; the overloads of an operation that is none come one by one."""
    groups: list[NativeFunction | NativeFunctionsGroup] = []
    for operation in operations:
        members = operation.members
        functional, out = members.get(SchemaKind.functional), members.get(SchemaKind.out)
        if functional is None or out is None or SchemaKind.scratch in members:
            check_ungrouped(operation, report)
            groups.extend(members.values())
            continue
        group = NativeFunctionsGroup(functional, out, members.get(SchemaKind.inplace), members.get(SchemaKind.mutable))
        for function in members.values():
            function.group = group
        check_group(group, report)
        groups.append(group)
    return groups


def view_families(keyed: Iterable[tuple[NativeFunction, SignatureKey]], report: CrossReport) -> list[Family]:
    """The functions that belong around one view, by what they are to it, in the order of their first member."""
    families: dict[SignatureKey, Family] = {}
    for function, key in keyed:
        if function.name.base.endswith(("_copy", "_scatter")):
            key = signature_key(function.schema, view_form=True)
        view_kind = function.view_kind
        kind = function.kind if view_kind is ViewKind.non_aliasing else view_kind
        family = families.setdefault(key, {})
        earlier = family.setdefault(kind, function)
        if earlier is not function and (earlier.name.base, earlier.kind) != (function.name.base, function.kind):
            message = f"`{function.name}` and `{earlier.name}` take the same place around one view"
            report.error(
                cross_codes.VIEW_TWICE, message, report.name(function), also=report.other(earlier, "the other one")
            )
    return list(families.values())


def grouped_by_view(families: Iterable[Family], report: CrossReport) -> list[NativeFunction | ViewGroup]:
    """The view groups of all families, each followed by the members of its family that belong to no view group."""
    groups: list[NativeFunction | ViewGroup] = []
    for family in families:
        view = family.pop(ViewKind.aliasing, None)
        if view is not None:
            inplace = family.pop(ViewKind.aliasing_inplace, None)
            group = ViewGroup(view, family.pop(SchemaKind.functional, None), inplace)
            for function in group.functions():
                function.view_group = group
            check_view_group(group, report)
            groups.append(group)
        groups.extend(family.values())
    return groups
