"""What the tests of imports share."""

from __future__ import annotations

from types import ModuleType

import pytest


@pytest.fixture(scope="session")
def torch() -> ModuleType:
    """The installed PyTorch."""
    module: ModuleType = pytest.importorskip("torch")
    return module
