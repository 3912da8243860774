"""Selections: the operators that a selective build keeps."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final

from opwright.model.native_function import NativeFunction
from opwright.source.records import NamedTuple
from opwright.source.span import Span


def qualified_name(function: NativeFunction) -> str:
    """Name by which a selection knows an overload: `aten::add.Tensor`."""
    return f"{function.namespace}::{function.name.text}"


class SelectedOperator(NamedTuple):
    """One operator that is kept.

    `name` is `namespace::name` or `namespace::name.overload`. `is_root` says that models call it (others are kept
    because roots call them), `for_training` that its derivative is needed, and `all_overloads` that a name without
    overload stands for all of them. `debug_info` says where the operator comes from; None if nothing does. `span` is
    that of the name in the selection, None on the command line.
    """

    name: str
    is_root: bool = True
    for_training: bool = True
    all_overloads: bool = True
    debug_info: tuple[str, ...] | None = None
    span: Span | None = None


_NOT_SELECTED: Final = SelectedOperator("", is_root=False, for_training=False, all_overloads=False)


class Selection(NamedTuple):
    """What a selective build keeps.

    `everything` keeps all operators. `kernel_dtypes` maps kernels to their dtypes, and `edge_kernels` maps operators to
    their kernel keys. `custom_classes` and `build_features` are for other tools and are passed on.

    >>> chosen = Selection(everything=False, operators={"aten::add": SelectedOperator("aten::add")})
    >>> chosen.names("aten::add.Tensor"), chosen.names("aten::sub.Tensor")
    (True, False)
    """

    everything: bool = True
    everything_else: bool = False
    operators: Mapping[str, SelectedOperator] = MappingProxyType({})
    kernel_dtypes: Mapping[str, tuple[str, ...]] = MappingProxyType({})
    edge_kernels: Mapping[str, tuple[str, ...]] = MappingProxyType({})
    custom_classes: frozenset[str] = frozenset()
    build_features: frozenset[str] = frozenset()
    debug_info: tuple[str, ...] | None = None

    def names(self, name: str) -> bool:
        """Whether the operator of that qualified name is kept."""
        return self.everything or name in self.operators or self._base(name).all_overloads

    def selects(self, function: NativeFunction) -> bool:
        """Whether the overload is kept."""
        return self.everything or self.names(qualified_name(function))

    def selects_for_training(self, function: NativeFunction) -> bool:
        """Whether the overload is kept together with its derivative."""
        return self.everything or self.names_for_training(qualified_name(function))

    def names_for_training(self, name: str) -> bool:
        """Whether the overload of that qualified name is kept together with its derivative."""
        own, base = self.operators.get(name, _NOT_SELECTED), self._base(name)
        return self.everything or own.for_training or (base.all_overloads and base.for_training)

    def is_root_named(self, name: str) -> bool:
        """Whether models call the overload of that qualified name themselves."""
        base = self._base(name)
        own = self.operators.get(name)
        return self.everything or ((base.all_overloads and base.is_root) if own is None else own.is_root)

    def _base(self, name: str) -> SelectedOperator:
        """Selected operator of the name without its overload."""
        return self.operators.get(name.partition(".")[0], _NOT_SELECTED)


#: The selection that keeps all operators.
EVERYTHING: Final = Selection(everything_else=True)


def merge(selection: Selection, other: Selection) -> Selection:
    """Union of two selections.

    >>> merge(Selection(everything=False), EVERYTHING).everything
    True
    """
    return Selection(
        everything=selection.everything or other.everything,
        everything_else=selection.everything_else or other.everything_else,
        operators=_merged_operators(selection.operators, other.operators),
        kernel_dtypes=_unite(selection.kernel_dtypes, other.kernel_dtypes),
        edge_kernels=_unite(selection.edge_kernels, other.edge_kernels),
        custom_classes=selection.custom_classes | other.custom_classes,
        build_features=selection.build_features | other.build_features,
        debug_info=_united_info(selection.debug_info, other.debug_info),
    )


def _merged_operators(
    first: Mapping[str, SelectedOperator], other: Mapping[str, SelectedOperator]
) -> dict[str, SelectedOperator]:
    operators = dict(first)
    for name, operator in other.items():
        present = operators.get(name)
        operators[name] = operator if present is None else _merged_operator(present, operator)
    return operators


def _merged_operator(operator: SelectedOperator, other: SelectedOperator) -> SelectedOperator:
    return operator._replace(
        is_root=operator.is_root or other.is_root,
        for_training=operator.for_training or other.for_training,
        all_overloads=operator.all_overloads or other.all_overloads,
        debug_info=_united_info(operator.debug_info, other.debug_info),
    )


def _united_info(first: tuple[str, ...] | None, other: tuple[str, ...] | None) -> tuple[str, ...] | None:
    return None if first is None and other is None else _distinct((*(first or ()), *(other or ())))


def _unite(first: Mapping[str, tuple[str, ...]], other: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    return {key: _distinct((*first.get(key, ()), *other.get(key, ()))) for key in (*first, *other)}


def _distinct(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(set(texts)))
