from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.release.fake_torch import FakeIndex, serve


@pytest.fixture
def quiet_pip(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Takes the machine's pip settings and cache away; gives the folder of the cache that is used instead."""
    for name in list(os.environ):
        if name.startswith("PIP_") or name.lower().endswith(("_proxy", "_ca_bundle")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    cache = tmp_path / "cache"
    monkeypatch.setenv("OPWRIGHT_CACHE_DIR", str(cache))
    monkeypatch.setattr("opwright.wheels.client._PAUSE", 0.0)
    return cache


@pytest.fixture
def index(quiet_pip: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeIndex]:
    """An index that pip's settings name, with the wheels that a test adds."""
    offered = FakeIndex()
    server = serve(offered)
    monkeypatch.setenv("PIP_INDEX_URL", f"{offered.address}/simple")
    yield offered
    server.shutdown()
    server.server_close()
