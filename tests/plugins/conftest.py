"""What the tests of plug-ins share."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.engine.project import Project


@pytest.fixture
def project(tmp_path: Path, reference_inputs: Path) -> Project:
    """A small project, nothing of which is generated yet."""
    return Project(tmp_path, reference_inputs)
