"""Reports about selections, as text and as JSON."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from opwright.selective.explanation import KeptOperator, SelectionReport
from opwright.selective.graph import ALWAYS, FOR_TRAINING

__all__ = ["render_explanation", "render_json", "render_text"]

_Row: TypeAlias = tuple[str, str, str, str]

_FORMAT = 1
_SPECIAL = {ALWAYS: f"every build ({ALWAYS})", FOR_TRAINING: f"training ({FOR_TRAINING})"}


def render_text(report: SelectionReport, *, with_dropped: bool = False) -> str:
    """The report for people: inputs, totals, and a line for each operator that is kept, or for all."""
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
        lines += ["", *_table(_kept_rows(report.operators.values()))]
    if with_dropped and report.dropped:
        rows = [(name, str(overloads), str(count), "dropped") for name, (overloads, count) in report.dropped.items()]
        lines += ["", *_table(rows)]
    return "\n".join([*lines, ""])


def _kept_rows(operators: Iterable[KeptOperator]) -> list[_Row]:
    return [
        (entry.operator.name, str(len(entry.overloads)), str(entry.kernels), _short_reason(entry))
        for entry in operators
    ]


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
    """The report for programs; of the kept operators only those with these names."""
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
