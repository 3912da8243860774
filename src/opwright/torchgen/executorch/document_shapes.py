"""Shapes of the documents that ExecuTorch's programs read."""

from __future__ import annotations

from typing import Final

from opwright.mobile.selective.shapes import ANY, FLAG, TEXT, Shape

#: A selection, for programs that read single fields of it.
SELECTED: Final = Shape(
    "record",
    fields={
        "include_all_operators": FLAG,
        "include_all_non_op_selectives": FLAG,
        "operators": Shape(
            "mapping",
            Shape(
                "record",
                fields={
                    "name": TEXT,
                    "is_root_operator": FLAG,
                    "is_used_for_training": FLAG,
                    "include_all_overloads": FLAG,
                    "debug_info": ANY,
                },
            ),
            may_be_null=True,
        ),
        "kernel_metadata": ANY,
        "et_kernel_metadata": Shape("mapping", Shape("list", TEXT), may_be_null=True),
        "custom_classes": ANY,
        "build_features": ANY,
        "debug_info": ANY,
    },
)


#: The operators of a functions.yaml or a custom_ops.yaml of ExecuTorch; other tools read the other fields.
OPERATOR_ENTRIES: Final = Shape(
    "list",
    Shape(
        "record",
        fields={
            "op": TEXT,
            "func": TEXT,
            **dict.fromkeys(
                (
                    *("kernels", "type_alias", "dim_order_alias", "variants", "dispatch", "tags", "device_guard"),
                    *("device_check", "manual_cpp_binding", "autogen", "structured", "structured_delegate"),
                    *("python_module", "category_override", "use_const_ref_for_mutable_tensors", "manual_kernel"),
                    *("structured_inherits", "precomputed", "cpp_no_default_args", "ufunc_inner_loop"),
                ),
                ANY,
            ),
        },
    ),
)
