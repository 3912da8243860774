"""Mistakes in formulas as users meet them: errors, or warnings that are errors with `--strict`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.conformance.inputs import complete_package, pytorch_files
from tests.conformance.mutate import DERIVATIVES

FORMULA = "self: grad * self.sgn()"


def write_inputs(tmp_path: Path, formula: str) -> Path:
    """PyTorch's inputs with another formula of `abs`; gives the folder of ATen."""
    for name, content in pytorch_files().items():
        path = tmp_path / "torchgen" / "packaged" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if name == DERIVATIVES:
            assert FORMULA.encode() in content
            content = content.replace(FORMULA.encode(), formula.encode(), 1)
        path.write_bytes(content)
    complete_package(tmp_path)
    return tmp_path / "torchgen" / "packaged" / "ATen"


@pytest.fixture
def inputs(tmp_path: Path) -> Path:
    """PyTorch's inputs with a misspelt name in the formula of `abs`."""
    return write_inputs(tmp_path, "self: grad * slef.sgn()")


def generate(inputs: Path, out: Path, *flags: str) -> subprocess.CompletedProcess[str]:
    """What `opwright generate` says and does."""
    command = [sys.executable, "-m", "opwright", "generate", "--source-path", str(inputs), "--out", str(out)]
    return subprocess.run([*command, "--only", "autograd", *flags], capture_output=True, text=True, check=False)


@pytest.mark.thorough
def test_a_misspelt_name_is_a_warning(inputs: Path, tmp_path: Path) -> None:
    """The files are made, as PyTorch's generator makes them, and the name is pointed at."""
    done = generate(inputs, tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert "warning[W0901]: `slef` is not an argument, result or gradient of `abs`" in done.stderr
    assert "did you mean `self`?" in done.stderr
    functions = tmp_path / "out" / "torch" / "csrc" / "autograd" / "generated" / "Functions.cpp"
    assert "grad * slef.sgn()" in functions.read_text(encoding="utf-8")


def test_a_misspelt_name_is_an_error_where_a_run_is_strict(inputs: Path, tmp_path: Path) -> None:
    """Nothing is written."""
    done = generate(inputs, tmp_path / "out", "--strict")
    assert done.returncode == 1
    assert "error[W0901]: `slef` is not an argument, result or gradient of `abs`" in done.stderr
    assert not list((tmp_path / "out").rglob("*.cpp"))


def test_a_formula_that_cannot_compile_is_an_error_always(tmp_path: Path) -> None:
    """Nothing is written, and the bracket is pointed at."""
    inputs = write_inputs(tmp_path, "self: grad * self.sgn(")
    done = generate(inputs, tmp_path / "out")
    assert done.returncode == 1
    assert "error[E0937]: `(` is never closed" in done.stderr
    assert not list((tmp_path / "out").rglob("*.cpp"))


@pytest.mark.thorough
def test_a_wrong_call_of_a_helper_is_an_error_where_the_inputs_have_the_header(tmp_path: Path) -> None:
    """Without the header nothing is known of the helper's arguments."""
    inputs = write_inputs(tmp_path, "self: pow_backward(grad, self)")
    done = generate(inputs, tmp_path / "out")
    assert done.returncode == 0, done.stderr
    header = tmp_path / "torch" / "include" / "torch" / "csrc" / "autograd" / "FunctionsManual.h"
    header.parent.mkdir(parents=True)
    header.write_text("Tensor pow_backward(Tensor grad, const Tensor& self, const Scalar& exponent);\n", "utf-8")
    done = generate(inputs, tmp_path / "out")
    assert done.returncode == 1
    assert "error[E0938]: `pow_backward` takes 3 arguments, and is called with 2" in done.stderr
    assert "FunctionsManual.h:1:8" in done.stderr
    assert "pow_backward(Tensor grad, const Tensor& self, const Scalar& exponent)" in done.stderr
