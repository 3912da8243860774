"""What a selection keeps and why, and what it drops."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from opwright.model.catalog import Catalog
from opwright.model.native_function import NativeFunction
from opwright.model.selection import SelectedOperator, Selection, qualified_name
from opwright.selective.graph import base_name
from opwright.selective.inputs import SelectionInput
from opwright.source.named_tuple import NamedTuple

__all__ = ["KeptOperator", "SelectionReport", "selection_report", "selector_of"]


class KeptOperator(NamedTuple):
    """An operator of a selection.

    `sources` are the inputs that name it. `chain` leads from a root operator to this one through the dependency graph;
    it is empty if the operator is a root or the graph has no way to it. `overloads` are those of the catalog that it
    keeps, `kernels` how many kernels these have, and `keys` its kernel keys for ExecuTorch.
    """

    operator: SelectedOperator
    sources: tuple[str, ...]
    chain: tuple[str, ...]
    overloads: tuple[str, ...]
    kernels: int
    keys: tuple[str, ...]

    @property
    def reason(self) -> str:
        """Why the operator is kept, in a word: `root`, `closure`, or `listed` by an input without being a root."""
        if self.operator.is_root:
            return "root"
        return "closure" if self.chain else "listed"


class SelectionReport(NamedTuple):
    """A selection as a report: its inputs, the operators that it keeps by name, and those that it drops.

    `dropped` has the numbers of overloads and kernels by operator. `is_everything` tells that all operators are kept
    whatever the list says. `overloads` and `kernels` count those of the catalog, kept and dropped.
    """

    inputs: tuple[SelectionInput, ...]
    is_everything: bool
    operators: Mapping[str, KeptOperator]
    dropped: Mapping[str, tuple[int, int]]
    overloads: tuple[int, int]
    kernels: tuple[int, int]


def selector_of(name: str, selection: Selection) -> str | None:
    """The selected operator that keeps an overload: itself, or the one that stands for all its overloads.

    >>> selector_of("aten::add.Tensor", Selection(False, operators={"aten::add": SelectedOperator("aten::add")}))
    'aten::add'
    """
    if name in selection.operators:
        return name
    base = selection.operators.get(base_name(name))
    return base.name if base is not None and base.all_overloads else None


def selection_report(
    selection: Selection, inputs: Sequence[SelectionInput], needed_by: Mapping[str, str], catalog: Catalog
) -> SelectionReport:
    """The report about a selection. `needed_by` has the operators of the closure, each with the one that needs it."""
    selected: dict[str, list[NativeFunction]] = {}
    dropped: dict[str, list[NativeFunction]] = {}
    for function in catalog.functions:
        name = qualified_name(function)
        selector = selector_of(name, selection)
        if selector is not None:
            selected.setdefault(selector, []).append(function)
        elif not selection.everything:
            dropped.setdefault(base_name(name), []).append(function)
    operators = {
        name: KeptOperator(
            operator,
            tuple([each.source for each in inputs if name in each.selection.operators]),
            _chain(name, operator, needed_by),
            tuple(sorted(map(qualified_name, selected.get(name, ())))),
            _kernel_count(selected.get(name, ())),
            selection.edge_kernels.get(name, ()),
        )
        for name, operator in sorted(selection.operators.items())
    }
    left_out = [function for functions in dropped.values() for function in functions]
    total, all_kernels = len(catalog.functions), _kernel_count(catalog.functions)
    return SelectionReport(
        tuple(inputs),
        selection.everything,
        operators,
        {name: (len(functions), _kernel_count(functions)) for name, functions in sorted(dropped.items())},
        (total - len(left_out), len(left_out)),
        (all_kernels - _kernel_count(left_out), _kernel_count(left_out)),
    )


def _kernel_count(functions: Iterable[NativeFunction]) -> int:
    return sum([len(function.kernels) for function in functions])


def _chain(name: str, operator: SelectedOperator, needed_by: Mapping[str, str]) -> tuple[str, ...]:
    """The operators from a root to one that it needs; empty for roots and operators that the graph does not reach."""
    base = base_name(name)
    if operator.is_root or not needed_by.get(base):
        return ()
    chain = [name]
    while needed_by.get(base):
        base = needed_by[base]
        chain.append(base)
    return tuple(reversed(chain))
