"""PyTorch's own tests on the device: none is wrong, crashes or hangs, and each that does not pass has its reason.

`pytest --pytorch-tests=pytorch/test` runs those of a source tree of PyTorch that are for every device, on the device
and on the CPU; `-k view` chooses files, and `--each 4 --each test_linalg=20` one of so many tests. What has run is kept
in build/upstream: the next run goes on where one was stopped, and runs again what a change of the device, of the tests
or of PyTorch may have changed.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from upstream import NO_REASON, Limits, compare_file, device_generic_files, label, shares


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test for each file of PyTorch's tests."""
    folder = metafunc.config.getoption("pytorch_tests").resolve()
    files = device_generic_files(folder)
    unknown = {*shares(metafunc.config.getoption("each"))} - {"", *map(label, files)}
    if unknown:
        raise pytest.UsageError(f"--each names files that have no tests for each device: {', '.join(sorted(unknown))}")
    metafunc.parametrize("path", files, ids=[label(file) for file in files])


def test_file(path: Path, pytestconfig: pytest.Config) -> None:
    """Each test of a file passes on the device, or has a reason, and some test says something about the device."""
    each = shares(pytestconfig.getoption("each"))
    limits = Limits(each.get(label(path), each.get("", "1")), pytestconfig.getoption("seconds"))
    compared = compare_file(path, Path("build/upstream"), limits)
    if not (compared.run or compared.not_run or compared.differences):
        pytest.skip("no test of the file is for this device, or is chosen")
    assert [difference.test for difference in compared.differences if difference.reason == NO_REASON] == []
    assert not compared.nothing_ran, "all tests fail on the CPU too, or before their first line"
