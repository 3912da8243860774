"""Tests that measure their process run in one of their own: a copy of the process of the tests, which shares nothing.

What earlier tests left in memory, threads that wait for messages, and timers of the test runner would be measured too.
"""

from __future__ import annotations

import gc
import os
import pickle
import signal
import sys
import traceback
from collections.abc import Callable
from typing import NoReturn

import pytest

__all__ = ["can_copy", "run_alone"]

_PASSED, _SKIPPED, _FAILED = "passed", "skipped", "failed"


def can_copy() -> bool:
    """Whether this system copies processes."""
    return hasattr(os, "fork")


def run_alone(test: Callable[[], object]) -> None:
    """Run a test in a copy of this process; its failure, or that it skips itself, is raised here."""
    sys.stdout.flush()
    sys.stderr.flush()
    readable, writable = os.pipe()
    process = os.fork()
    if not process:
        os.close(readable)
        _end(test, writable)
    os.close(writable)
    try:
        with os.fdopen(readable, "rb") as results:
            answer = results.read()
    except BaseException:
        os.kill(process, signal.SIGKILL)
        raise
    finally:
        status = os.waitpid(process, 0)[1]
    outcome, text = pickle.loads(answer) if answer else (_FAILED, f"the process of the test ended with status {status}")
    if outcome == _SKIPPED:
        pytest.skip(text)
    if outcome == _FAILED:
        pytest.fail(text, pytrace=False)


def _end(test: Callable[[], object], results: int) -> NoReturn:
    """Run the test in the copy, which ends then."""
    # The collector would look through all that the original holds, and so copy its memory.
    gc.freeze()
    outcome, text = _PASSED, ""
    try:
        test()
    except pytest.skip.Exception as skipped:
        outcome, text = _SKIPPED, str(skipped)
    except BaseException:
        outcome, text = _FAILED, traceback.format_exc()
    try:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        with open(results, "wb") as stream:
            pickle.dump((outcome, text), stream)
    finally:
        os._exit(0)
