"""Doubts about derivatives as users meet them: warnings, and errors with `--strict`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.conformance.inputs import pytorch_files
from tests.conformance.mutate import DERIVATIVES

FORMULA = "self: grad * self.sgn()"


@pytest.fixture
def inputs(tmp_path: Path) -> Path:
    """PyTorch's inputs with a misspelt name in the formula of `abs`."""
    for name, content in pytorch_files().items():
        path = tmp_path / "torchgen" / "packaged" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if name == DERIVATIVES:
            content = content.replace(FORMULA.encode(), FORMULA.replace("self.sgn", "slef.sgn").encode(), 1)
        path.write_bytes(content)
    return tmp_path / "torchgen" / "packaged" / "ATen"


def generate(inputs: Path, out: Path, *flags: str) -> subprocess.CompletedProcess[str]:
    """What `opwright generate` says and does."""
    command = [sys.executable, "-m", "opwright", "generate", "--source-path", str(inputs), "--out", str(out)]
    return subprocess.run([*command, "--only", "autograd", *flags], capture_output=True, text=True, check=False)


def test_a_misspelt_name_is_a_warning(inputs: Path, tmp_path: Path) -> None:
    """The files are made, as PyTorch's own generator makes them, and the name is pointed at."""
    done = generate(inputs, tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert "warning[W0901]: `slef` is no argument, result or gradient of `abs`" in done.stderr
    assert "did you mean `self`?" in done.stderr
    functions = tmp_path / "out" / "torch" / "csrc" / "autograd" / "generated" / "Functions.cpp"
    assert "grad * slef.sgn()" in functions.read_text(encoding="utf-8")


def test_a_misspelt_name_is_an_error_where_a_run_is_strict(inputs: Path, tmp_path: Path) -> None:
    """Nothing is written."""
    done = generate(inputs, tmp_path / "out", "--strict")
    assert done.returncode == 1
    assert "error[W0901]: `slef` is no argument, result or gradient of `abs`" in done.stderr
    assert not list((tmp_path / "out").rglob("*.cpp"))
