"""A program for the reference's interpreter: prints what it loads from a YAML, as JSON, to compare ours with.

Arguments: the path of native_functions.yaml, that of tags.yaml, and the names of the ignored dispatch keys.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping

from torchgen import gen
from torchgen.model import BackendIndex, DispatchKey, NativeFunction, NativeFunctionsGroup, NativeFunctionsViewGroup

Indices = Mapping[DispatchKey, BackendIndex]


def kernels_of(function: NativeFunction, indices: Indices) -> dict[str, object]:
    """The kernels of a function by key."""
    kernels: dict[str, object] = {}
    for key, index in indices.items():
        kernel = index.index.get(function.func.name)
        if kernel is not None:
            kernels[key.name] = [kernel.kernel, kernel.cpp_namespace, kernel.structured]
    return kernels


def described(function: NativeFunction, indices: Indices) -> dict[str, object]:
    """All facts about a function."""
    precomputed = function.precomputed
    return {
        "schema": str(function.func),
        "namespace": function.namespace,
        "kind": function.func.kind().name,
        "tags": sorted(function.tags),
        "kernels": kernels_of(function, indices),
        "variants": sorted(variant.name for variant in function.variants),
        "structured": function.structured,
        "structured_delegate": str(function.structured_delegate),
        "structured_inherits": function.structured_inherits,
        "precomputed": None
        if precomputed is None
        else [
            {name: list(map(str, new)) for name, new in precomputed.replace.items()},
            list(map(str, precomputed.add)),
        ],
        "ufunc": {
            key.name: [loop.name, [dtype.name for dtype in loop.supported_dtypes]]
            for key, loop in function.ufunc_inner_loop.items()
        },
        "device_check": function.device_check.name,
        "device_guard": function.device_guard,
        "manual_cpp_binding": function.manual_cpp_binding,
        "manual_kernel_registration": function.manual_kernel_registration,
        "python_module": function.python_module,
        "category_override": function.category_override,
        "cpp_no_default_args": sorted(function.cpp_no_default_args),
        "const_ref": function.use_const_ref_for_mutable_tensors,
        "autogen": list(map(str, function.autogen)),
        "is_view": function.is_view_op,
        "view_kind": function.view_schema_kind.name,
        "is_abstract": function.is_abstract,
        "in_structured_group": function.part_of_structured_group,
        "has_composite_kernel": function.has_composite_kernel,
        "root_name": function.root_name,
    }


def group_members(group: NativeFunction | NativeFunctionsGroup | NativeFunctionsViewGroup) -> list[str | None]:
    """The names of the members of a group, or of the single function."""
    if isinstance(group, NativeFunctionsGroup):
        members = [group.functional, group.out, group.inplace, group.mutable]
    elif isinstance(group, NativeFunctionsViewGroup):
        members = [group.view, group.view_copy, group.view_inplace]
    else:
        return [str(group.func.name)]
    return [None if member is None else str(member.func.name) for member in members]


def main() -> None:
    """Prints the functions, groups and view groups."""
    native, tags, *ignored = sys.argv[1:]
    parsed = gen.parse_native_yaml(native, tags, {DispatchKey[name] for name in ignored})
    functions, indices = parsed.native_functions, parsed.backend_indices
    json.dump(
        {
            "functions": [described(function, indices) for function in functions],
            "groups": [group_members(function) for function in gen.get_grouped_native_functions(functions)],
            "view_groups": [
                group_members(function) for function in gen.get_grouped_by_view_native_functions(functions)
            ],
        },
        sys.stdout,
    )


if __name__ == "__main__":
    main()
