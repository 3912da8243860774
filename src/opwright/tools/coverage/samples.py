"""Runs the samples that PyTorch has for its own tests on a backend's device, and says what those that fail lack."""

from __future__ import annotations

import json
import re
import subprocess
import tempfile
from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from opwright.backends.dialect.sections import SECTIONS
from opwright.backends.operator_names import STAND_INS
from opwright.backends.operator_records import ABSENT, CoverageReport, OperatorRecord
from opwright.migrate.import_codes import MODULE_NOT_READ
from opwright.migrate.importing.process import program_command
from opwright.migrate.importing.programs import MARK
from opwright.model.dispatch_key import LIBRARY_KEYS
from opwright.release.rules import Rules
from opwright.release.version import parse_version
from opwright.source.diagnostic import Fault
from opwright.source.records import NamedTuple


class DispatcherState(NamedTuple):
    """What the dispatcher has: for each key the operators with a kernel of their own, those for which anything runs on
    the device, and whether the device has a kernel for all operators.
    """

    registered: Mapping[str, frozenset[str]]
    callable: frozenset[str]
    has_fallback: bool


def runtime_keys_of(report: CoverageReport) -> list[str]:
    """Dispatch keys to compare: the device's own, and those of the sections that a backend file may have."""
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
    """Differences for a further key of the device. Some kernels follow from an entry for another overload."""
    named = {record.function.root_name for record in report.records if key in record.keys}
    for record in report.records:
        has_kernel = _qualified(record) in registered
        if key in record.keys and not has_kernel:
            yield f"`{record.name}`: the file has a kernel for {key}, and the process has none"
        elif has_kernel and record.span is None and record.function.root_name not in named:
            yield f"`{record.name}`: the process has a kernel for {key}, and the file names none"


def _qualified(record: OperatorRecord) -> str:
    """Name of an operator in the dispatcher."""
    return f"{record.function.namespace}::{record.function.name.text}"


def _runs_differently(record: OperatorRecord, is_callable: bool) -> str:
    """How a call without a kernel of the backend ends, if the report says something else; empty if it does not."""
    if record.status not in ABSENT and not is_callable:
        return f"the report says that {record.status.value} runs, and the process has nothing"
    if record.status in ABSENT and is_callable and not record.reach.key:
        return "the report says that nothing runs, and the process has a kernel of PyTorch"
    return ""


#: What PyTorch says of an operator for which nothing runs.
_LACKS: Final = re.compile(r"Could not run '(?:aten::)?([\w:.]+)' with arguments from the")
_SHOWN: Final = 6


class SampleResult(NamedTuple):
    """How the samples of an operator end on the device: `error` is None without samples that the CPU takes, else the
    first error, or empty.
    """

    operator: str
    error: str | None


def run_samples(key: str, modules: Sequence[str]) -> Iterator[SampleResult]:
    """Run the first samples of all operators, which takes a minute, in processes that import the modules.

    If one ends a process, the next process goes on behind it. Raises Fault if the modules or PyTorch's samples cannot
    be imported.
    """
    first, total = 0, 1
    while first < total:
        command = program_command("samples", [key, first], modules)
        with (
            tempfile.TemporaryFile("w+") as complaint,
            subprocess.Popen(command, stdout=subprocess.PIPE, stderr=complaint, text=True) as process,
        ):
            answers = _answers(process)
            total = next(answers, 0)
            if not total:
                complaint.seek(0)
                last = (complaint.read().strip().splitlines() or [f"exit status {process.wait()}"])[-1]
                raise Fault.at(MODULE_NOT_READ, f"the samples of PyTorch's operators cannot be run: {last}")
            begun = ""
            for index, operator, *ended in answers:
                first, begun = index + 1, "" if ended else operator
                if ended:
                    yield SampleResult(operator, ended[0])
        if begun:
            yield SampleResult(begun, f"the process ended with status {process.returncode}")


def _answers(process: subprocess.Popen[str]) -> Iterator[Any]:
    """What a process prints behind the mark, as it comes."""
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith(MARK):
            yield json.loads(line.removeprefix(MARK))


def sample_lines(results: Iterable[SampleResult]) -> Iterator[str]:
    """What fails, a line for each reason with the operators that it concerns, most first; last, the numbers.

    >>> lacks = "NotImplementedError: Could not run 'aten::{}' with arguments from the 'npu' backend."
    >>> results = [SampleResult(name, lacks.format("sort.values")) for name in ("median", "sort")]
    >>> for line in sample_lines([*results, SampleResult("abs", ""), SampleResult("empty", None)]):
    ...     print(line)
    nothing runs for `sort.values`: 2 fail: median, sort
    3 operators have samples, 2 fail
    """
    count = 0
    reasons: defaultdict[str, list[str]] = defaultdict(list)
    for operator, error in results:
        count += error is not None
        if error:
            lacks = _LACKS.search(error)
            reasons[error.splitlines()[0] if lacks is None else f"nothing runs for `{lacks[1]}`"].append(operator)
    for reason, operators in sorted(reasons.items(), key=lambda item: -len(item[1])):
        shown = ", ".join(operators[:_SHOWN]) + (", ..." if len(operators) > _SHOWN else "")
        yield f"{reason}: {f'{len(operators)} fail' if len(operators) > 1 else 'one fails'}: {shown}"
    yield f"{count:,} operators have samples, {sum(map(len, reasons.values())):,} fail"
