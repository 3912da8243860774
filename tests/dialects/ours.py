"""The same facts about our catalog that `reference_dump.py` prints about what the reference loads."""

from __future__ import annotations

from opwright.model.catalog import Catalog
from opwright.model.native_function import NativeFunction, NativeFunctionsGroup, ViewGroup


def described(function: NativeFunction) -> dict[str, object]:
    """All facts about a function."""
    precomputed = function.precomputed
    return {
        "schema": str(function.schema),
        "namespace": function.namespace,
        "kind": function.kind.name,
        "tags": sorted(function.tags),
        "kernels": {
            key.name: [kernel.name, kernel.namespace, kernel.structured] for key, kernel in function.kernels.items()
        },
        "variants": ["function"] * function.function + ["method"] * function.method,
        "structured": function.structured,
        "structured_delegate": str(function.structured_delegate),
        "structured_inherits": function.structured_inherits,
        "precomputed": None
        if precomputed is None
        else [
            {name: list(map(str, new)) for name, new in precomputed.replace.items()},
            list(map(str, precomputed.add)),
        ],
        "ufunc": {key.name: [loop.name, list(loop.dtypes)] for key, loop in function.ufunc.items()},
        "device_check": function.device_check.name,
        "device_guard": function.device_guard,
        "manual_cpp_binding": function.manual_cpp_binding,
        "manual_kernel_registration": function.manual_kernel_registration,
        "python_module": function.python_module,
        "category_override": function.category_override,
        "cpp_no_default_args": sorted(function.cpp_no_default_args),
        "const_ref": function.const_ref_mutables,
        "autogen": list(map(str, function.autogen)),
        "is_view": function.is_view,
        "view_kind": function.view_kind.name,
        "is_abstract": function.is_abstract,
        "in_structured_group": function.in_structured_group,
        "has_composite_kernel": function.has_composite_kernel,
        "root_name": function.root_name,
    }


def group_members(group: NativeFunction | NativeFunctionsGroup | ViewGroup) -> list[str | None]:
    """The names of the members of a group, or of the single function."""
    if isinstance(group, NativeFunctionsGroup):
        members: tuple[NativeFunction | None, ...] = (group.functional, group.out, group.inplace, group.mutable)
    elif isinstance(group, ViewGroup):
        members = (group.view, group.view_copy, group.view_inplace)
    else:
        members = (group,)
    return [None if member is None else member.name.text for member in members]


def facts(catalog: Catalog) -> dict[str, object]:
    """The functions, groups and view groups of a catalog."""
    return {
        "functions": [described(function) for function in catalog],
        "groups": [group_members(group) for group in catalog.groups],
        "view_groups": [group_members(group) for group in catalog.view_groups],
    }
