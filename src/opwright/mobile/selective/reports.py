"""Reports about selections, as text and as JSON: what is kept and why, and what is dropped."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from opwright.mobile.selective.graph import ALWAYS, FOR_TRAINING, base_name
from opwright.mobile.selective.inputs import SelectionInput
from opwright.model.catalog import Catalog
from opwright.model.native_function import NativeFunction
from opwright.model.selection import SelectedOperator, Selection, qualified_name
from opwright.source.records import NamedTuple

_Row: TypeAlias = tuple[str, str, str, str]

_FORMAT = 1
_SPECIAL = {ALWAYS: f"every build ({ALWAYS})", FOR_TRAINING: f"training ({FOR_TRAINING})"}


def render_text(report: SelectionReport, *, with_dropped: bool = False) -> str:
    """Report for people: inputs, totals, and a line for each operator that is kept, or for all."""
    lines = ["inputs:"]
    lines += [
        f"  {each.source}: {each.kind}, {_count_text(len(each.selection.operators), 'operator')}"
        for each in report.inputs
    ]
    left, dropped = report.overloads
    kernels, dropped_kernels = report.kernels
    lines += [
        "",
        f"kept: {_count_text(left, 'overload')} with {_count_text(kernels, 'kernel')}",
        f"dropped: {_count_text(dropped, 'overload')} of {_count_text(len(report.dropped), 'operator')} with "
        f"{_count_text(dropped_kernels, 'kernel')}",
    ]
    if report.is_everything:
        lines.append("an input keeps all operators")
    if report.operators:
        rows = [
            (entry.operator.name, str(len(entry.overloads)), str(entry.kernels), _short_reason(entry))
            for entry in report.operators.values()
        ]
        lines += ["", *_table(rows)]
    if with_dropped and report.dropped:
        rows = [(name, str(overloads), str(count), "dropped") for name, (overloads, count) in report.dropped.items()]
        lines += ["", *_table(rows)]
    return "\n".join([*lines, ""])


def _table(rows: list[_Row]) -> list[str]:
    rows = [("operator", "overloads", "kernels", "reason"), *rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        f"{name:<{widths[0]}}  {overloads:>{widths[1]}}  {kernels:>{widths[2]}}  {reason}"
        for name, overloads, kernels, reason in rows
    ]


def _short_reason(entry: KeptOperator) -> str:
    if entry.reason == "closure":
        return f"needed by {_SPECIAL.get(entry.chain[-2], entry.chain[-2])}"
    training = ", for training" if entry.operator.for_training else ""
    return f"{entry.reason}: {', '.join(entry.sources)}{training}"


def render_explanation(name: str, entry: KeptOperator) -> str:
    """Why an operator or an overload is kept, as a few lines for people."""
    operator = entry.operator
    lines = [f"{name} is kept"]
    if name != operator.name:
        lines.append(f"  `{operator.name}` is selected with all its overloads")
    if entry.chain:
        steps = [_SPECIAL.get(step, step) for step in entry.chain]
        lines.append(f"  the dependency graph leads to it: {' -> '.join(steps)}")
    if entry.sources:
        role = "as a root operator" if operator.is_root else "and does not call it itself"
        lines += [f"  {source} names it {role}" for source in entry.sources]
    origins = [text for text in operator.debug_info or () if text not in (*entry.sources, "None")]
    if origins:
        lines.append(f"  it comes from {', '.join(origins)}")
    lines.append(f"  its derivative is {'kept, for training' if operator.for_training else 'not kept'}")
    if entry.keys:
        lines.append(f"  its kernels for ExecuTorch are {' '.join(entry.keys)}")
    return "\n".join([*lines, ""])


def render_json(report: SelectionReport, names: Iterable[str]) -> str:
    """Report for programs; of the kept operators only those with these names."""
    from json import dumps

    left, dropped = report.overloads
    kernels, dropped_kernels = report.kernels
    chosen = set(names)
    document = {
        "version": _FORMAT,
        "inputs": [
            {"source": each.source, "kind": each.kind, "operators": len(each.selection.operators)}
            for each in report.inputs
        ],
        "everything": report.is_everything,
        "overloads": {"kept": left, "dropped": dropped},
        "kernels": {"kept": kernels, "dropped": dropped_kernels},
        "operators": [_fields(each) for name, each in report.operators.items() if name in chosen],
        "dropped": [
            {"name": name, "overloads": overloads, "kernels": count}
            for name, (overloads, count) in report.dropped.items()
        ],
    }
    return dumps(document, indent=2) + "\n"


def _fields(entry: KeptOperator) -> dict[str, object]:
    operator = entry.operator
    return {
        "name": operator.name,
        "reason": entry.reason,
        "sources": list(entry.sources),
        "chain": list(entry.chain),
        "debug_info": list(operator.debug_info or ()),
        "root": operator.is_root,
        "training": operator.for_training,
        "all_overloads": operator.all_overloads,
        "overloads": list(entry.overloads),
        "kernels": entry.kernels,
        "kernel_keys": list(entry.keys),
    }


def _count_text(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


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
    """Selected operator that keeps an overload: itself, or the one that stands for all its overloads.

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
    """Report about a selection. `needed_by` has the operators of the closure, each with the one that needs it."""
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
    """Operators from a root to one that it needs; empty for roots and operators that the graph does not reach."""
    base = base_name(name)
    if operator.is_root or not needed_by.get(base):
        return ()
    chain = [name]
    while needed_by.get(base):
        base = needed_by[base]
        chain.append(base)
    return tuple(reversed(chain))
