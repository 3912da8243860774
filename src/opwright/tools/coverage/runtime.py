"""Compares what a backend file says with the dispatcher of a process in which the backend is loaded."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from typing import Final

from opwright.dialects.backend.sections import SECTIONS
from opwright.emit.dispatch.records import ABSENT, CoverageReport, OperatorRecord
from opwright.model.dispatch_key import LIBRARY_KEYS
from opwright.release.operator_names.kernels import STAND_INS
from opwright.release.rules import Rules
from opwright.release.version import parse_version
from opwright.source.named_tuple import NamedTuple

#: What a process runs whose arguments are a list of dispatch keys, the device's own first, and the modules to import.
#: It prints one line of JSON. Kernels for further keys are those that the modules add.
DISPATCHER_PROGRAM: Final = """
import importlib, json, os, sys
os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"
import torch

def registered(key):
    has_kernel = torch._C._dispatch_has_kernel_for_dispatch_key
    return {name for name in torch._C._dispatch_get_all_op_names() if has_kernel(name, key)}

own, *further = json.loads(sys.argv[1])
before = {key: registered(key) for key in further}
for name in sys.argv[2:]:
    importlib.import_module(name)
direct = {own: sorted(registered(own)), **{key: sorted(registered(key) - before[key]) for key in further}}
can_be_called = torch._C._dispatch_has_computed_kernel_for_dispatch_key
runs = [name for name in torch._C._dispatch_get_all_op_names() if can_be_called(name, own)]
has_fallback = torch._C._dispatch_has_backend_fallback(getattr(torch._C.DispatchKey, own))
print("\\nopwright import:", json.dumps([direct, runs, has_fallback]))
"""


class DispatcherState(NamedTuple):
    """What the dispatcher has: for each key the operators with a kernel of their own, those for which anything runs on
    the device, and whether the device has a kernel for all operators.
    """

    registered: Mapping[str, frozenset[str]]
    callable: frozenset[str]
    has_fallback: bool


def runtime_keys_of(report: CoverageReport) -> list[str]:
    """The dispatch keys to compare: the device's own, and those of the sections that a backend file may have."""
    further = [kind.prefix + report.key for kind in SECTIONS.values() if not kind.is_dense]
    return [report.key, *[key for key in further if key in LIBRARY_KEYS]]


def runtime_differences(report: CoverageReport, state: DispatcherState) -> Iterator[str]:
    """What the file and the dispatcher say differently, a sentence for each operator."""
    if state.has_fallback != (report.fallback == "cpu"):
        kernel = "a kernel" if state.has_fallback else "no kernel"
        yield f"the process has {kernel} for all operators, and the fallback of the report is `{report.fallback}`"
    registered = state.registered[report.key]
    # The file's fallback registers functions for some operators that the CPU has under other names.
    by_fallback = STAND_INS.in_release(Rules(parse_version(report.release))) if report.fallback == "cpu" else {}
    for record in report.records:
        name = _qualified(record)
        expected = record.reach.key == report.key
        if expected and name not in registered:
            yield f"`{record.name}`: the file has {record.status.value}, and the process has none"
        elif name in registered and not expected and record.span is None and record.name not in by_fallback:
            yield f"`{record.name}`: the process has a kernel that the file does not name; `manual` lists such"
        elif not state.has_fallback and (reason := _runs_differently(record, name in state.callable)):
            yield f"`{record.name}`: {reason}"
    for key in state.registered:
        if key != report.key:
            yield from _differences_of_section(key, report, state.registered[key])


def _differences_of_section(key: str, report: CoverageReport, registered: Container[str]) -> Iterator[str]:
    """The differences for a further key of the device. Some kernels follow from an entry for another overload."""
    named = {record.function.root_name for record in report.records if key in record.keys}
    for record in report.records:
        has_kernel = _qualified(record) in registered
        if key in record.keys and not has_kernel:
            yield f"`{record.name}`: the file has a kernel for {key}, and the process has none"
        elif has_kernel and record.span is None and record.function.root_name not in named:
            yield f"`{record.name}`: the process has a kernel for {key}, and the file names none"


def _qualified(record: OperatorRecord) -> str:
    """The name of an operator in the dispatcher."""
    return f"{record.function.namespace}::{record.function.name.text}"


def _runs_differently(record: OperatorRecord, is_callable: bool) -> str:
    """How a call without a kernel of the backend ends, if the report says something else; empty if it does not."""
    if record.status not in ABSENT and not is_callable:
        return f"the report says that {record.status.value} runs, and the process has nothing"
    if record.status in ABSENT and is_callable and not record.reach.key:
        return "the report says that nothing runs, and the process has a kernel of PyTorch"
    return ""
