"""A plug-in of pytest: takes some tests of each file, and writes outcomes with how often they called `torchgen`.

It runs in a process of PyTorch's tests. `OUTCOMES` names the file that gets a line for each test as it ends, and
`TESTS_EACH` how many tests of a file run, evenly spread.
"""

from __future__ import annotations

import functools
import gc
import json
import math
import os
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import pytest
import torchgen.model
import torchgen.utils
from torchgen.gen_schema_utils import FunctionSchemaGen

_calls = 0


def _counted(function: Callable[..., object]) -> Callable[..., object]:
    @functools.wraps(function)
    def counted(*values: object, **named: object) -> object:
        global _calls
        _calls += 1
        return function(*values, **named)

    return counted


def pytest_configure() -> None:
    """Count the calls of what PyTorch imports from its generator when it runs."""
    torchgen.model.FunctionSchema.parse = staticmethod(_counted(torchgen.model.FunctionSchema.parse))
    torchgen.utils.dataclass_repr = _counted(torchgen.utils.dataclass_repr)
    FunctionSchemaGen.from_example = staticmethod(_counted(FunctionSchemaGen.from_example))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave some tests of each file."""
    by_file = defaultdict(list)
    for item in items:
        by_file[item.path].append(item)
    each = int(os.environ["TESTS_EACH"])
    items[:] = [item for listed in by_file.values() for item in listed[:: math.ceil(len(listed) / each)]]


def pytest_collectreport(report: pytest.CollectReport) -> None:
    """Write that a file could not be read."""
    if report.failed:
        _write(report.nodeid, "", "not collected")


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Write the outcome of a test: that of its call, or of what failed or skipped it before or after."""
    if report.when == "call" or report.outcome != "passed":
        outcome = "xfailed" if hasattr(report, "wasxfail") and report.skipped else report.outcome
        path, _, name = report.nodeid.partition("::")
        _write(path, name, outcome)


def pytest_runtest_logfinish() -> None:
    """Free what a test left: PyTorch keeps signatures of operators by their names until their libraries are gone."""
    gc.collect()


def _write(path: str, name: str, outcome: str) -> None:
    global _calls
    with Path(os.environ["OUTCOMES"]).open("a") as file:
        print(json.dumps([path, name, outcome, _calls]), file=file)
    _calls = 0
