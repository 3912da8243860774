"""Plain kernels with every option of wrappers: generated, compiled against the stock wheel, and called."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.backend.conftest import BuildBackend, RunChecks

pytestmark = pytest.mark.thorough

HERE = Path(__file__).parent
CALLS = HERE / "calls.py"
CHECKS = [
    node.name
    for node in ast.parse(CALLS.read_text(encoding="utf-8")).body
    if isinstance(node, ast.FunctionDef) and node.name.startswith("check_")
]


@pytest.fixture(scope="module")
def failures(build_backend: BuildBackend, run_checks: RunChecks) -> dict[str, str]:
    """What each check found."""
    return run_checks(build_backend(HERE), "tests.backend.wrappers.calls")


@pytest.mark.parametrize("check", CHECKS)
def test_wrappers_on_the_device(check: str, failures: dict[str, str]) -> None:
    """The check, which calls.py describes, finds nothing."""
    assert failures[check] == ""
