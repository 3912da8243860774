"""The headers of the stable C++ API, read from a wheel at the index."""

from __future__ import annotations

from pathlib import Path

import pytest

from opwright.cli.main import main
from opwright.wheels.fetch import stable_headers
from tests.release.fake_torch import FakeIndex, package_files, wheel_bytes

LIBRARY = "torch/include/torch/csrc/stable/library.h"


def test_headers_are_read_once(index: FakeIndex, capsys: pytest.CaptureFixture[str]) -> None:
    """The command prints the folder of the headers, which have no others of PyTorch beside them."""
    files = {
        LIBRARY: "// stable",
        "torch/include/torch/headeronly/a/b.h": "// b",
        "torch/include/ATen/ATen.h": "// all",
    }
    index.add("2.10.0", wheel_bytes("2.10.0", {**package_files("2.10.0"), **files}))
    assert main(["releases", "--stable-headers", "2.10.0"]) == 0
    folder = Path(capsys.readouterr().out.strip())
    found = {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*.h")}
    assert found == {"torch/csrc/stable/library.h": "// stable", "torch/headeronly/a/b.h": "// b"}
    asked = len(index.requests)
    assert stable_headers("2.10.0") == str(folder)
    assert len(index.requests) == asked


def test_older_releases_have_none(index: FakeIndex, capsys: pytest.CaptureFixture[str]) -> None:
    """A release without the headers is an error, and nothing is kept of it."""
    index.add("2.10.0", wheel_bytes("2.10.0"))
    assert main(["releases", "--stable-headers", "2.10.0"]) == 1
    assert "PyTorch 2.10.0 has no stable C++ API" in capsys.readouterr().err
