"""A session does not grow, and its diagnostics are those of a fresh check once the editor pauses."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.tools.lsp.soak import soak

#: What may be added after the first bursts. A text of PyTorch's operators is 0.6 MB, and each edit makes a new one.
_GROWTH = 25 * 2**20


@pytest.mark.thorough
def test_edits_leave_nothing_behind(tmp_path: Path) -> None:
    """The memory after 160 edits is that after 60, and the diagnostics settle to those of a check by itself."""
    result = asyncio.run(asyncio.wait_for(soak(tmp_path, 160, seed=1, every=80), 300))
    assert not result.unsettled
    assert max(result.memory.values()) - result.memory[60] < _GROWTH
