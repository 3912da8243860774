"""Compares what a backend file says with the dispatcher of a process in which the backend is loaded."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from opwright.coverage.records import ABSENT, CoverageReport, OperatorRecord
from opwright.source.named_tuple import NamedTuple

__all__ = ["DISPATCHER_PROGRAM", "DispatcherState", "runtime_differences"]

#: What a process runs whose arguments are a dispatch key and the modules to import. It prints one line of JSON.
DISPATCHER_PROGRAM: Final = """
import importlib, json, sys
import torch
for name in sys.argv[2:]:
    importlib.import_module(name)
key, direct, runs = sys.argv[1], [], []
for name in torch._C._dispatch_get_all_op_names():
    if torch._C._dispatch_has_kernel_for_dispatch_key(name, key):
        direct.append(name)
    if torch._C._dispatch_has_computed_kernel_for_dispatch_key(name, key):
        runs.append(name)
has_fallback = torch._C._dispatch_has_backend_fallback(getattr(torch._C.DispatchKey, key))
print("\\nopwright import:", json.dumps([direct, runs, has_fallback]))
"""


class DispatcherState(NamedTuple):
    """What the dispatcher has for one key: the operators with a kernel of their own, those for which anything runs, and
    whether there is a kernel for all operators.
    """

    registered: frozenset[str]
    callable: frozenset[str]
    has_fallback: bool


def runtime_differences(report: CoverageReport, state: DispatcherState) -> Iterator[str]:
    """What the file and the dispatcher say differently, a sentence for each operator."""
    if state.has_fallback != (report.fallback == "cpu"):
        kernel = "a kernel" if state.has_fallback else "no kernel"
        yield f"the process has {kernel} for all operators, and the fallback of the report is `{report.fallback}`"
    for record in report.records:
        name = f"{record.function.namespace}::{record.function.name.text}"
        expected = record.reach.key == report.key
        if expected and name not in state.registered:
            yield f"`{record.name}`: the file has {record.status.value}, and the process has none"
        elif name in state.registered and not expected and record.span is None:
            yield f"`{record.name}`: the process has a kernel that the file does not name; `manual` lists such"
        elif not state.has_fallback and (reason := _runs_differently(record, name in state.callable)):
            yield f"`{record.name}`: {reason}"


def _runs_differently(record: OperatorRecord, is_callable: bool) -> str:
    """How a call without a kernel of the backend ends, if the report says something else; empty if it does not."""
    if record.status not in ABSENT and not is_callable:
        return f"the report says that {record.status.value} runs, and the process has nothing"
    if record.status in ABSENT and is_callable and not record.reach.key:
        return "the report says that nothing runs, and the process has a kernel of PyTorch"
    return ""
