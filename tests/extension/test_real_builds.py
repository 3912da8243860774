"""Builds with the machine's compiler: the projects of `opwright new`, and operators in a script."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.compile.compiler import compiler_program

pytestmark = [
    pytest.mark.thorough,
    pytest.mark.skipif(compiler_program() is None, reason="there is no C++ compiler"),
]

SCRIPT = """\
import opwright, torch
acme = opwright.inline(
    yaml="- {func: 'acme::cube(Tensor self) -> Tensor', dispatch: {CPU: cube}, outputs: like(self)}",
    cpp="at::Tensor acme::native::cube(const at::Tensor& self) { return self * self * self; }",
    derivatives="- {name: cube(Tensor self) -> Tensor, self: 3 * grad * self * self, result: auto_element_wise}",
)
x = torch.rand(3, dtype=torch.double, requires_grad=True)
assert torch.autograd.gradcheck(acme.cube, x, check_forward_ad=True)
assert torch.compile(acme.cube, fullgraph=True, dynamic=True, backend="aot_eager")(x).equal(x**3)
"""


def run(folder: Path, *words: str, **variables: str) -> str:
    """What Python prints in a folder; it must succeed."""
    environment = {**os.environ, **variables}
    done = subprocess.run(
        [sys.executable, *words], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


def test_new_project_is_green(tmp_path: Path) -> None:
    """A new project builds, and its own tests and the generated ones pass."""
    run(tmp_path, "-m", "opwright", "new", "library", "acme-ops", ".")
    run(tmp_path, "setup.py", "build_ext", "--inplace")
    path = os.pathsep.join([str(tmp_path / "src"), *filter(None, [os.environ.get("PYTHONPATH")])])
    report = run(tmp_path, "-m", "pytest", "-q", "-p", "no:cacheprovider", PYTHONPATH=path)
    assert " passed" in report
    assert "skipped" not in report
    assert (tmp_path / "tests" / "test_acme_ops.py").exists()


def test_new_backend_is_green(tmp_path: Path) -> None:
    """A new backend builds, PyTorch imports it, and its tests pass."""
    run(tmp_path, "-m", "opwright", "new", "backend", "npu", ".")
    run(tmp_path, "setup.py", "--quiet", "egg_info", "build_ext", "--inplace")
    report = run(tmp_path, "-m", "pytest", "-q", "-p", "no:cacheprovider")
    assert " passed" in report
    assert "skipped" not in report


def test_ten_lines_of_a_script(tmp_path: Path) -> None:
    """A script of ten lines has an operator with gradients in both modes, which compiles for dynamic shapes."""
    (tmp_path / "script.py").write_text(SCRIPT)
    assert len(SCRIPT.splitlines()) <= 10
    cache = str(tmp_path / "cache")
    for _ in range(2):
        run(tmp_path, "script.py", OPWRIGHT_CACHE_DIR=cache)
    # A kernel with a wrong type is a mistake that names what is expected.
    kernel = "at::Tensor acme::native::cube(const at::Tensor& self) { return self * self * self; }"
    assert kernel in SCRIPT
    wrong = "namespace acme::native { at::Tensor cube(at::Tensor& self) { return self * self * self; } }"
    (tmp_path / "wrong.py").write_text(SCRIPT.replace(kernel, wrong))
    done = subprocess.run(
        [sys.executable, "wrong.py"],
        cwd=tmp_path,
        env={**os.environ, "OPWRIGHT_CACHE_DIR": cache},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "error[E1204]: `acme::native::cube(at::Tensor const&)` is declared and not defined" in done.stderr


STABLE_SCRIPT = '''\
import opwright, torch
yaml = """
namespace: steady
abi: stable
operators:
  - func: doubled(Tensor self) -> Tensor
    outputs: like(self)
    dispatch: {CPU: doubled}
"""
cpp = """
#include <torch/csrc/stable/ops.h>
torch::stable::Tensor steady::native::doubled(const torch::stable::Tensor& self) {
  auto result = torch::stable::clone(self);
  auto* data = static_cast<float*>(result.mutable_data_ptr());
  for (int64_t i = 0; i < result.numel(); ++i) data[i] *= 2;
  return result;
}
"""
for name in (None, "first", "second"):
    module = opwright.inline(yaml, cpp, name=name)
    assert module.__name__ == (name or "steady")
    assert module.doubled(torch.ones(2)).tolist() == [2, 2]
    compiled = torch.compile(module.doubled, fullgraph=True, dynamic=True, backend="aot_eager")
    assert compiled(torch.ones(3)).tolist() == [2, 2, 2]
'''


def test_a_script_with_the_stable_interface(tmp_path: Path) -> None:
    """Operators with the stable C++ interface are built, called and traced by a script, under any names of modules."""
    (tmp_path / "script.py").write_text(STABLE_SCRIPT)
    run(tmp_path, "script.py", OPWRIGHT_CACHE_DIR=str(tmp_path / "cache"))
