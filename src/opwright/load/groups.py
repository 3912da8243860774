"""Groups of overloads: those of one operation, and those around one view."""

from __future__ import annotations

from opwright.load.operations import Operation
from opwright.model.native_function import NativeFunction, NativeFunctionsGroup, ViewGroup, ViewKind
from opwright.schema.function import SchemaKind
from opwright.schema.signature import SignatureKey, signature_key


def grouped(operations: list[Operation]) -> list[NativeFunction | NativeFunctionsGroup]:
    """The groups of all operations; the overloads of an operation that is none come one by one."""
    found: list[NativeFunction | NativeFunctionsGroup] = []
    for operation in operations:
        members = operation.members
        functional, out = members.get(SchemaKind.functional), members.get(SchemaKind.out)
        if functional is None or out is None:
            found.extend(members.values())
            continue
        group = NativeFunctionsGroup(functional, out, members.get(SchemaKind.inplace), members.get(SchemaKind.mutable))
        for function in members.values():
            function.group = group
        found.append(group)
    return found


class ViewFamily:
    """The overloads whose signatures agree once `x_copy` is read as `x`, by kind and as views."""

    __slots__ = ("others", "views")

    def __init__(self) -> None:
        self.views: dict[ViewKind, NativeFunction] = {}
        self.others: dict[SchemaKind, NativeFunction] = {}


def view_families(keyed: list[tuple[NativeFunction, SignatureKey]]) -> list[list[NativeFunction]]:
    """The functions that belong around one view, in the order of their first member."""
    families: dict[SignatureKey, list[NativeFunction]] = {}
    for function, key in keyed:
        base = function.name.base
        if base.endswith(("_copy", "_scatter")):
            key = signature_key(function.schema, view_form=True)
        families.setdefault(key, []).append(function)
    return list(families.values())


def grouped_by_view(families: list[list[NativeFunction]]) -> list[NativeFunction | ViewGroup]:
    """The view groups of all families, each followed by the members of its family that belong to no view group."""
    found: list[NativeFunction | ViewGroup] = []
    for family in families:
        view = next((one for one in family if one.view_kind is ViewKind.aliasing), None)
        if view is None:
            found.extend(family)
            continue
        inplace = next((one for one in family if one.view_kind is ViewKind.aliasing_inplace), None)
        copy = next(
            (one for one in family if one.kind is SchemaKind.functional and one.view_kind is ViewKind.non_aliasing),
            None,
        )
        group = ViewGroup(view, copy, inplace)
        members = group.functions()
        for function in members:
            function.view_group = group
        found.append(group)
        found.extend(one for one in family if one not in members)
    return found
