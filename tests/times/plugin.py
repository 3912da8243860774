"""A plug-in of pytest that writes the processor seconds of each test, with its fixtures and its child processes."""

from __future__ import annotations

import json
import os
import resource
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

#: The folder in which each process of pytest leaves a file of its own.
FOLDER: Final = "OPWRIGHT_TEST_TIMES"


def _spent() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> Iterator[None]:
    """Count what the fixtures of a test take: the first test that needs a shared one pays for it."""
    yield from _counted(item, "setup")


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Count what the test itself takes."""
    yield from _counted(item, "call")


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> Iterator[None]:
    """Count what is cleared away after a test."""
    yield from _counted(item, "teardown")


def _counted(item: pytest.Item, phase: str) -> Iterator[None]:
    before = _spent()
    try:
        return (yield)
    finally:
        row = json.dumps([item.nodeid.partition("@")[0], phase, _spent() - before])
        with (Path(os.environ[FOLDER]) / f"{os.getpid()}.jsonl").open("a", encoding="utf-8") as file:
            print(row, file=file)
