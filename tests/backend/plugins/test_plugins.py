"""The wrappers that the plug-ins of `examples/plugins` make: generated, compiled for the stock wheel, and called."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.backend.conftest import check_names

pytestmark = pytest.mark.thorough


@pytest.mark.parametrize("check", check_names(Path(__file__).parent))
def test_plugins_on_the_device(check: str, failures: dict[str, str]) -> None:
    """The check, which calls.py describes, finds nothing."""
    assert failures[check] == ""
