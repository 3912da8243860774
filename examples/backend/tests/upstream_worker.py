"""A plug-in of pytest for the processes of `test_upstream.py`: runs a file of PyTorch's tests on one device.

`UPSTREAM_JOURNAL` names the file that gets a line of JSON for what is found, what begins and what ends. Tests that the
journal has are not run again, so that a process goes on after a test that ended the one before.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import unittest
import zlib
from collections.abc import Callable, Generator
from pathlib import Path
from types import FunctionType

import pytest
import torch
from torch.testing._internal import common_cuda, common_methods_invocations, common_mkldnn, common_nn, common_utils
from torch.testing._internal.common_device_type import DeviceTypeTestBase
from torch.testing._internal.common_distributed import MultiProcessTestCase
from upstream import IMPORT, NOT_RUN
from upstream_processes import prepare

# Names that tests of 2.6 import, and that PyTorch has dropped since, with what stands for them now.
_DROPPED = {
    "binary_ufuncs_and_refs": (common_methods_invocations, common_methods_invocations.binary_ufuncs),
    "bf32_on_and_off": (common_mkldnn, getattr(common_mkldnn, "reduced_f32_on_and_off", None)),
    "new_module_tests": (common_nn, common_nn.get_new_module_tests()),
    "tf32_is_not_fp32": (common_cuda, lambda: False),
}
for _name, (_module, _value) in _DROPPED.items():
    if not hasattr(_module, _name):
        setattr(_module, _name, _value)

_JOURNAL = Path(os.environ["UPSTREAM_JOURNAL"])


#: The test case whose test began after its `setUp`.
_entered: list[unittest.TestCase] = []


def _enter(case: unittest.TestCase, method: Callable[[], object]) -> None:
    _entered.append(case)
    _call_test_method(case, method)


_call_test_method: Callable[..., None] = unittest.TestCase._callTestMethod  # type: ignore[attr-defined]
unittest.TestCase._callTestMethod = _enter  # type: ignore[attr-defined]


def _end_recursion(owner: type) -> None:
    """Let `super(self.__class__, self)` in tests of 2.6 go up: PyTorch derives a class for each device since."""
    for name in ("setUp", "tearDown"):
        function = vars(owner).get(name)
        if isinstance(function, FunctionType) and "__class__" in function.__code__.co_names:
            names = function.__globals__ | {"super": lambda _, case: super(owner, case)}
            setattr(owner, name, FunctionType(function.__code__, names, name, closure=function.__closure__))


def _write(**line: object) -> None:
    with _JOURNAL.open("a", encoding="utf-8") as file:
        print(json.dumps(line), file=file)


def name(item: pytest.Item) -> str:
    """The name of a test, with words in place of the device, so that it is the same on each."""
    if not issubclass(item.cls, DeviceTypeTestBase):
        return f"{item.cls.__name__}::{item.name}"
    device = _device()
    head, _, tail = item.name.rpartition(f"_{device}")
    group = item.cls.__name__.removesuffix(device.upper()).removesuffix("PRIVATEUSE1")
    return f"{group}::{head}{tail}"


def _device() -> str:
    word = os.environ["PYTORCH_TESTING_DEVICE_ONLY_FOR"]
    return torch._C._get_privateuse1_backend_name() if word == "privateuse1" else word


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave the tests that the file has for each device or for processes, or some of them, but for what ran before."""
    if _device() == "privateuseone":
        _write(fault="no device is installed: pip install --no-build-isolation -e .")
    kinds = DeviceTypeTestBase, MultiProcessTestCase
    found = {name(item): item for item in items if item.cls is not None and issubclass(item.cls, kinds)}
    each, _, rest = os.environ["UPSTREAM_EACH"].partition(":")
    chosen = [test for test in found if zlib.crc32(test.encode()) % int(each) == int(rest or 0)] + _unreadable
    begun = set()
    for line in map(json.loads, _JOURNAL.read_text(encoding="utf-8").splitlines()):
        begun.add(line.get("begins"))
        begun.discard(line.get("again"))
    _write(found=chosen)
    items[:] = [found[test] for test in chosen if test in found and test not in begun]
    cases = {item.cls for item in items}
    for owner in {owner for case in cases for owner in case.__mro__}:
        _end_recursion(owner)
    prepare(_device(), cases)
    gc.freeze()  # Thousands of tests take long to look through, and are never garbage.


#: What stands for the tests of a file that cannot be imported.
_unreadable: list[str] = []


def pytest_collectreport(report: pytest.CollectReport) -> None:
    """Write that the file cannot be imported, and why."""
    if report.failed:
        text = str(report.longrepr)
        _write(ends=IMPORT, outcome=NOT_RUN, said=text.splitlines()[-1].removeprefix("E").strip(), trace=text[-6000:])
        _unreadable.append(IMPORT)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Write that a test begins."""
    _write(begins=name(item))
    _entered.clear()
    # PyTorch reads the sources of the whole stack to find it, which takes longer than most tests.
    common_utils.extract_test_fn = lambda: getattr(item.cls, item.name)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Write how a test ended: its call, or what failed or skipped it before or after."""
    report = yield
    if report.when == "call" or report.outcome != "passed":
        outcome = "xfailed" if hasattr(report, "wasxfail") and report.skipped else report.outcome
        if outcome == "failed" and not _entered:
            outcome = NOT_RUN
        said = f"{call.excinfo.typename}: {call.excinfo.value}" if call.excinfo else ""
        _write(ends=name(item), outcome=outcome, said=said[:2000], trace=str(report.longrepr)[-6000:] if said else "")
    return report


def pytest_runtest_logfinish() -> None:
    """Free the tensors that the traceback of a test keeps, and large memory."""
    sys.last_type = sys.last_value = sys.last_traceback = None
    if torch.accelerator.is_available() and torch.accelerator.memory_reserved() > 1 << 28:
        gc.collect()
        torch.accelerator.empty_cache()
