"""`torchgen.selective_build.selector`: the operators and kernels that a selective build keeps."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from opwright.model.selection import Selection, merge
from opwright.torchgen.selective_build.operator import (
    SelectiveBuildOperator,
    merge_debug_info,
    merge_operator_dicts,
    operators_of,
    read_selection,
    selected,
    strip_operator_overload_name,
)

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Protocol

    class _Schema(Protocol):
        """What selections read of a schema."""

        @property
        def name(self) -> object: ...

    class _Operator(Protocol):
        """What selections read of a native function."""

        @property
        def namespace(self) -> str: ...

        @property
        def func(self) -> _Schema: ...


__all__ = [
    "SelectiveBuildOperator",
    "SelectiveBuilder",
    "combine_selective_builders",
    "merge_debug_info",
    "merge_et_kernel_metadata",
    "merge_kernel_metadata",
    "merge_operator_dicts",
    "op_name_from_native_function",
    "strip_operator_overload_name",
]


_TextsByName: TypeAlias = "dict[str, list[str]]"


@dataclass(frozen=True)
class SelectiveBuilder:
    """What a selective build keeps."""

    include_all_operators: bool
    _debug_info: tuple[str, ...] | None
    operators: dict[str, SelectiveBuildOperator]
    kernel_metadata: _TextsByName
    et_kernel_metadata: _TextsByName
    custom_classes: set[str]
    build_features: set[str]
    include_all_non_op_selectives: bool

    @staticmethod
    def from_yaml_dict(data: dict[str, object]) -> SelectiveBuilder:
        """Selection that the fields of a selection file describe."""
        return _builder(read_selection(json.dumps(data, default=list)))

    @staticmethod
    def from_yaml_str(config_contents: str) -> SelectiveBuilder:
        """Selection that the text of a selection file describes."""
        return _builder(read_selection(config_contents))

    @staticmethod
    def from_yaml_path(config_path: str) -> SelectiveBuilder:
        """Selection in a file."""
        return _builder(read_selection(Path(config_path).read_text(encoding="utf-8"), str(config_path)))

    @staticmethod
    def get_nop_selector() -> SelectiveBuilder:
        """Selection that keeps all operators."""
        return _builder(Selection())

    @staticmethod
    def from_legacy_op_registration_allow_list(
        allow_list: set[str], is_root_operator: bool, is_used_for_training: bool
    ) -> SelectiveBuilder:
        """Selection of the operators of an old list, with all overloads."""
        operators = {
            name: SelectiveBuildOperator(name, is_root_operator, is_used_for_training, True, None)
            for name in sorted(allow_list)
        }
        return _builder(Selection(everything=False, everything_else=True, operators=selected(operators)))

    @cached_property
    def selection(self) -> Selection:
        """Opwright's selection of the same."""
        return Selection(
            everything=self.include_all_operators,
            everything_else=self.include_all_non_op_selectives,
            operators=selected(self.operators),
            kernel_dtypes=_tuples(self.kernel_metadata),
            edge_kernels=_tuples(self.et_kernel_metadata),
            custom_classes=frozenset(self.custom_classes),
            build_features=frozenset(self.build_features),
            debug_info=self._debug_info,
        )

    def is_operator_selected(self, name: str) -> bool:
        """Whether the operator of that qualified name is kept."""
        return self.selection.names(name)

    def is_native_function_selected(self, func: _Operator) -> bool:
        """Whether an operator is kept."""
        return self.is_operator_selected(op_name_from_native_function(func))

    def is_operator_selected_for_training(self, name: str) -> bool:
        """Whether the operator of that qualified name is kept with its derivative."""
        return self.selection.names_for_training(name)

    def is_native_function_selected_for_training(self, func: _Operator) -> bool:
        """Whether an operator is kept with its derivative."""
        return self.is_operator_selected_for_training(op_name_from_native_function(func))

    def is_root_operator(self, name: str) -> bool:
        """Whether models call the operator of that qualified name themselves."""
        return self.selection.is_root_named(name)

    def is_kernel_dtype_selected(self, kernel_tag: str, dtype: str) -> bool:
        """Whether a kernel is built for a dtype."""
        keeps_all = self.include_all_operators or self.include_all_non_op_selectives
        return keeps_all or dtype in self.kernel_metadata.get(kernel_tag, ())

    def et_get_selected_kernels(self, op_name: str, kernel_key: list[str]) -> list[str]:
        """Keys of an operator's ExecuTorch kernels that models need, with the default one if others are missing.

        Raises LookupError if the models need another kernel.
        """
        if op_name not in self.et_kernel_metadata:
            return kernel_key if self.include_all_operators else []
        wanted = {key.partition("/")[2] for key in self.et_kernel_metadata[op_name]}
        chosen = [key for key in kernel_key if key != "default" and key.partition("/")[2] in wanted]
        if len(chosen) >= len(wanted):
            return chosen
        if "default" in kernel_key:
            return [*chosen, "default"]
        raise LookupError(f"no kernel of `{op_name}` serves what the models need (Missing kernel for the model)")

    def to_dict(self) -> dict[str, object]:
        """Fields of a selection file."""
        fields: dict[str, object] = {
            "include_all_non_op_selectives": self.include_all_non_op_selectives,
            "include_all_operators": self.include_all_operators,
            "operators": {name: operator.to_dict() for name, operator in self.operators.items()},
        }
        if self._debug_info is not None:
            fields["debug_info"] = sorted(self._debug_info)
        return {
            **fields,
            "kernel_metadata": {tag: sorted(dtypes) for tag, dtypes in self.kernel_metadata.items()},
            "et_kernel_metadata": self.et_kernel_metadata,
            "custom_classes": sorted(self.custom_classes),
            "build_features": sorted(self.build_features),
        }


def merge_kernel_metadata(lhs: _TextsByName, rhs: _TextsByName) -> _TextsByName:
    """Dtypes of both, for each kernel."""
    return _lists(merge(Selection(kernel_dtypes=_tuples(lhs)), Selection(kernel_dtypes=_tuples(rhs))).kernel_dtypes)


def merge_et_kernel_metadata(lhs: _TextsByName, rhs: _TextsByName) -> _TextsByName:
    """Kernel keys of both, for each operator."""
    return merge_kernel_metadata(lhs, rhs)


def combine_selective_builders(lhs: SelectiveBuilder, rhs: SelectiveBuilder) -> SelectiveBuilder:
    """What either of two selections keeps."""
    return _builder(merge(lhs.selection, rhs.selection))


def op_name_from_native_function(f: _Operator) -> str:
    """Name by which a selection knows an operator: `aten::add.Tensor`."""
    return f"{f.namespace}::{f.func.name}"


def _builder(selection: Selection) -> SelectiveBuilder:
    return SelectiveBuilder(
        selection.everything,
        selection.debug_info,
        operators_of(selection),
        _lists(selection.kernel_dtypes),
        _lists(selection.edge_kernels),
        set(selection.custom_classes),
        set(selection.build_features),
        selection.everything_else,
    )


def _tuples(lists: Mapping[str, list[str]]) -> dict[str, tuple[str, ...]]:
    return {name: tuple(items) for name, items in lists.items()}


def _lists(tuples: Mapping[str, tuple[str, ...]]) -> dict[str, list[str]]:
    return {name: list(items) for name, items in tuples.items()}
