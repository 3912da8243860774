"""Generated samples say no device: their tensors are made on that of the variable DEVICE."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
import torch


@pytest.fixture(autouse=True)
def device() -> Iterator[None]:
    """The device of tensors for which a test names none."""
    with torch.device(os.environ["DEVICE"]):
        yield
