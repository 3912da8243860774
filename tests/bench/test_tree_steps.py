"""The steps in PyTorch's tree that `bench.tree_steps` measures do what docs/benchmarks.md says."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.tree_steps import Steps


@pytest.mark.network
def test_steps_show_a_mistake_an_operator_and_an_edit(tmp_path: Path) -> None:
    """The linter names the mistake, the report counts files, and the core refuses an edit that is not followed."""
    lines = Steps(tmp_path, "2.15.0").shown()
    assert lines[0].startswith("aten/src/ATen/native/native_functions.yaml:")
    assert "E0310 unknown dispatch key `CPUU`" in lines[0]
    assert "Files: 38 differ, 0 are gone, 5 are new." in lines
    assert "exit status 1" in lines
    assert any(line.startswith("error[W0507]: a part differs from the generator of PyTorch 2.15") for line in lines)
