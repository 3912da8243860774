"""PyTorch's own generators run on Opwright's modules, and write the same files."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PROGRAM = Path(__file__).with_name("autograd_program.py")


def written(folder: Path, packaged: Path, *hook: str) -> tuple[str, dict[str, str]]:
    """Whose modules the program imports, and the files that it writes."""
    folder.mkdir()
    command = [sys.executable, *hook, str(PROGRAM), str(packaged), str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip(), {path.name: path.read_text() for path in folder.iterdir()}


def test_generators_of_python_bindings_write_the_same_files(tmp_path: Path, reference_inputs: Path) -> None:
    """Signatures, parsers, return types and annotated arguments of all functions."""
    packaged = reference_inputs.parent
    own, files = written(tmp_path / "own", packaged, "-m", "opwright.torchgen.run")
    torchgen, expected = written(tmp_path / "torchgen", packaged)
    assert (own, torchgen) == ("opwright", "torchgen")
    assert len(expected) > 10
    assert files == expected
