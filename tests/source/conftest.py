"""What the tests of sources share."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def native_functions() -> Path:
    """PyTorch's `native_functions.yaml`, out of the installed release."""
    spec = importlib.util.find_spec("torchgen")
    if spec is None or not spec.submodule_search_locations:
        pytest.skip("torch is not installed")
    return Path(spec.submodule_search_locations[0]) / "packaged" / "ATen" / "native" / "native_functions.yaml"
