"""What the tests of dumps for bindings share: the dump of the installed PyTorch."""

from __future__ import annotations

from pathlib import Path

import pytest

from opwright.release.inputs import open_inputs
from opwright.source.diagnostic import Diagnostics
from opwright.tools.bindings.data import dump_for_bindings
from opwright.tools.dump.document import render_dump


@pytest.fixture(scope="session")
def dump(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file with the dump."""
    path = tmp_path_factory.mktemp("dump") / "bindings.json"
    text = render_dump(dump_for_bindings(open_inputs("auto"), None, Diagnostics()))
    path.write_text(text, encoding="utf-8")
    return path
