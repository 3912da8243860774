"""The example of an operator library; `make example-library` compiles it and runs its tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from opwright.cli.main import main

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "library"


@pytest.mark.parametrize(("file", "operators"), [("acme.yaml", 21), ("stable/acme.yaml", 22)])
def test_example_has_no_mistakes(file: str, operators: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The library files and the derivatives of the example have neither errors nor warnings."""
    library = str(EXAMPLE / file)
    assert main(["generate", "--strict", "--library", library, "--torch", "auto", "--out", str(tmp_path)]) == 0
    output = "".join(capsys.readouterr())
    assert "warning" not in output
    assert f"{operators} operators" in output
