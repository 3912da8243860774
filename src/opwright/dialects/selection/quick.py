"""Selections from files of the simple kind that programs write, without the import of PyYAML."""

from __future__ import annotations

from opwright.model.selection import SelectedOperator, Selection
from opwright.source.plain_yaml import NotPlain

__all__ = ["selection_of"]


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
