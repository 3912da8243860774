"""Writes selections of operators."""

from __future__ import annotations

import yaml

from opwright.model.selection import SelectedOperator, Selection


def write_selection(selection: Selection) -> str:
    """Text of a selection, with sorted keys; it has every field, but `debug_info` only where the selection has it.

    >>> from opwright.model.selection import Selection
    >>> write_selection(Selection(everything=False)).splitlines()[:3]
    ['build_features: []', 'custom_classes: []', 'et_kernel_metadata: {}']
    """
    data: dict[str, object] = {
        "include_all_non_op_selectives": selection.everything_else,
        "include_all_operators": selection.everything,
        "operators": {name: operator_fields(operator) for name, operator in selection.operators.items()},
        "kernel_metadata": {tag: sorted(dtypes) for tag, dtypes in selection.kernel_dtypes.items()},
        "et_kernel_metadata": {name: list(keys) for name, keys in selection.edge_kernels.items()},
        "custom_classes": sorted(selection.custom_classes),
        "build_features": sorted(selection.build_features),
    }
    if selection.debug_info is not None:
        data["debug_info"] = sorted(selection.debug_info)
    return str(yaml.safe_dump(data, default_flow_style=False))


def operator_fields(operator: SelectedOperator) -> dict[str, object]:
    """Fields of an operator in a selection file."""
    fields: dict[str, object] = {
        "is_root_operator": operator.is_root,
        "is_used_for_training": operator.for_training,
        "include_all_overloads": operator.all_overloads,
    }
    if operator.debug_info is not None:
        fields["debug_info"] = list(operator.debug_info)
    return fields
