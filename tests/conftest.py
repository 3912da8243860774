"""What all tests share: the reference's inputs."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import settings

# A busy machine makes single examples slow; what is slow for good shows in the benchmarks.
settings.register_profile("opwright", deadline=None)
settings.load_profile("opwright")


@pytest.fixture(scope="session")
def reference_inputs() -> Path:
    """The folder of the installed reference that stands for `aten/src/ATen`."""
    spec = find_spec("torchgen")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent / "packaged" / "ATen"
