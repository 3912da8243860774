"""PyTorch's generators run on Opwright's modules, and write the same files."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("autograd_program.py")


def written(part: str, folder: Path, packaged: Path, *hook: str) -> tuple[str, dict[str, str]]:
    """Whose modules the program imports, and the files that it writes."""
    folder.mkdir()
    command = [sys.executable, *hook, str(PROGRAM), part, str(packaged), str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    files = {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}
    return done.stdout.strip(), files


@pytest.mark.parametrize("part", ["bindings", pytest.param("autograd", marks=pytest.mark.thorough)])
def test_generators_of_pytorch_write_the_same_files(part: str, tmp_path: Path, reference_inputs: Path) -> None:
    """Signatures, parsers and return types in Python; nodes, formulas, kernels for autograd, views and tracing."""
    packaged = reference_inputs.parent
    own, files = written(part, tmp_path / "own", packaged, "-m", "opwright.torchgen.run")
    torchgen, expected = written(part, tmp_path / "torchgen", packaged)
    assert (own, torchgen) == ("opwright", "torchgen")
    assert len(expected) > 10
    assert files == expected
