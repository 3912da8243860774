"""What the tests of imports share."""

from __future__ import annotations

from types import ModuleType

import pytest

from tests.torch_process import _quick_answers

__all__ = ["_quick_answers", "torch"]


@pytest.fixture(scope="session")
def torch() -> ModuleType:
    """The installed PyTorch."""
    module: ModuleType = pytest.importorskip("torch")
    return module
