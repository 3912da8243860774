"""The example of an operator library; `make example-library` compiles it and runs its tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from opwright.cli.main import main

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "library"


def test_example_has_no_mistakes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The library file and the derivatives of the example have neither errors nor warnings."""
    library = str(EXAMPLE / "acme.yaml")
    assert main(["generate", "--strict", "--library", library, "--torch", "auto", "--out", str(tmp_path)]) == 0
    output = "".join(capsys.readouterr())
    assert "warning" not in output
    assert "21 operators" in output
