"""`torchgen.selective_build.operator`: one operator of a selection."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from opwright.dialects.selection import load_selection
from opwright.model.selection import SelectedOperator, Selection, merge
from opwright.source.diagnostic import Diagnostics, Fault, FaultsFound
from opwright.source.text import SourceFile


@dataclass(frozen=True)
class SelectiveBuildOperator:
    """One operator that is kept, and for what."""

    name: str
    is_root_operator: bool
    is_used_for_training: bool
    include_all_overloads: bool
    _debug_info: tuple[str, ...] | None

    def to_dict(self) -> dict[str, object]:
        """Fields in a selection file."""
        info = {} if self._debug_info is None else {"debug_info": self._debug_info}
        return {
            "is_root_operator": self.is_root_operator,
            "is_used_for_training": self.is_used_for_training,
            "include_all_overloads": self.include_all_overloads,
            **info,
        }

    @staticmethod
    def from_yaml_dict(op_name: str, op_info: dict[str, object]) -> SelectiveBuildOperator:
        """Operator that the fields of a selection file describe."""
        return operators_of(read_selection(json.dumps({"operators": {op_name: op_info}}, default=list)))[op_name]

    @staticmethod
    def from_legacy_operator_name_without_overload(name: str) -> SelectiveBuildOperator:
        """Operator of a name in an old list: with all overloads, as a root, for training."""
        return SelectiveBuildOperator(name, True, True, True, None)


def merge_debug_info(lhs: tuple[str, ...] | None, rhs: tuple[str, ...] | None) -> tuple[str, ...] | None:
    """Sources of both, each once."""
    return merge(Selection(debug_info=lhs), Selection(debug_info=rhs)).debug_info


def combine_operators(lhs: SelectiveBuildOperator, rhs: SelectiveBuildOperator) -> SelectiveBuildOperator:
    """What two selections keep of the same operator."""
    if lhs.name != rhs.name:
        raise ValueError(f"`{lhs.name}` and `{rhs.name}` are two operators: only one can be combined with itself")
    return merge_operator_dicts({lhs.name: lhs}, {rhs.name: rhs})[lhs.name]


def merge_operator_dicts(
    lhs: dict[str, SelectiveBuildOperator], rhs: dict[str, SelectiveBuildOperator]
) -> dict[str, SelectiveBuildOperator]:
    """Operators of both, by name."""
    merged = merge(Selection(operators=selected(lhs)), Selection(operators=selected(rhs)))
    return operators_of(merged)


def strip_operator_overload_name(op_name: str) -> str:
    """A name without its overload.

    >>> strip_operator_overload_name("aten::add.Tensor")
    'aten::add'
    """
    return op_name.partition(".")[0]


def read_selection(text: str, path: str = "<selection>") -> Selection:
    """Selection that a text of YAML describes; AssertionError has all mistakes with their places."""
    sink = Diagnostics()
    try:
        selection = load_selection(SourceFile(path, text), sink)
        sink.raise_if_errors()
    except (Fault, FaultsFound) as raised:
        raise AssertionError(str(raised)) from None
    return selection


def selected(operators: Mapping[str, SelectiveBuildOperator]) -> dict[str, SelectedOperator]:
    """Opwright's operators."""
    return {
        name: SelectedOperator(
            operator.name,
            operator.is_root_operator,
            operator.is_used_for_training,
            operator.include_all_overloads,
            operator._debug_info,
        )
        for name, operator in operators.items()
    }


def operators_of(selection: Selection) -> dict[str, SelectiveBuildOperator]:
    """Operators of a selection, by name."""
    return {
        name: SelectiveBuildOperator(
            operator.name, operator.is_root, operator.for_training, operator.all_overloads, operator.debug_info
        )
        for name, operator in selection.operators.items()
    }
