"""Selections of the simple kind that programs write: read without the import of PyYAML, and written."""

from __future__ import annotations

from opwright.model.selection import SelectedOperator, Selection
from opwright.source.plain_yaml import NotPlain
from opwright.source.yaml_writer import write_mapping


def selection_of(data: object) -> Selection:
    """The selection that the values of a YAML file describe.

    Raises NotPlain if anything is wrong with them; `load_selection` then tells what and where.

    >>> selection_of({"operators": {"aten::add": {"include_all_overloads": False}}}).operators["aten::add"].is_root
    True
    """
    if data.__class__ is not dict:
        raise NotPlain
    assert isinstance(data, dict)
    fields = dict(data)
    selection = Selection(
        everything=_flag(fields, "include_all_operators", False),
        everything_else=_flag(fields, "include_all_non_op_selectives", False),
        operators=_operators(fields.pop("operators", {})),
        kernel_dtypes=_lists(fields.pop("kernel_metadata", {})),
        edge_kernels=_lists(fields.pop("et_kernel_metadata", {})),
        custom_classes=frozenset(_texts(fields.pop("custom_classes", []))),
        build_features=frozenset(_texts(fields.pop("build_features", []))),
        debug_info=_texts(fields.pop("debug_info")) if "debug_info" in fields else None,
    )
    if fields:
        raise NotPlain
    return selection


def _flag(fields: dict[str, object], field: str, default: bool) -> bool:
    value = fields.pop(field, default)
    if value.__class__ is not bool:
        raise NotPlain
    return value is True


def _operators(data: object) -> dict[str, SelectedOperator]:
    if not isinstance(data, dict):
        raise NotPlain
    return {name: _operator(name, fields) for name, fields in data.items()}


def _operator(name: str, data: object) -> SelectedOperator:
    if not isinstance(data, dict):
        raise NotPlain
    fields = dict(data)
    is_root = _flag(fields, "is_root_operator", True)
    for_training = _flag(fields, "is_used_for_training", True)
    all_overloads = _flag(fields, "include_all_overloads", True)
    debug_info = _texts(fields.pop("debug_info")) if "debug_info" in fields else None
    if fields.pop("name", name) != name or fields:
        raise NotPlain
    return SelectedOperator(name, is_root, for_training, all_overloads, debug_info)


def _lists(data: object) -> dict[str, tuple[str, ...]]:
    if not isinstance(data, dict):
        raise NotPlain
    return {key: _texts(value) for key, value in data.items()}


def _texts(data: object) -> tuple[str, ...]:
    if not isinstance(data, list) or any(item.__class__ is not str for item in data):
        raise NotPlain
    return tuple(data)


def write_selection(selection: Selection) -> str:
    """The text of a selection, with sorted keys; it has every field, but `debug_info` only where the selection has it.

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
    return write_mapping(data)


def operator_fields(operator: SelectedOperator) -> dict[str, object]:
    """The fields of an operator in a selection file."""
    fields: dict[str, object] = {
        "is_root_operator": operator.is_root,
        "is_used_for_training": operator.for_training,
        "include_all_overloads": operator.all_overloads,
    }
    if operator.debug_info is not None:
        fields["debug_info"] = list(operator.debug_info)
    return fields
