"""What kernels check before anything else becomes requirements that allow the same calls."""

from __future__ import annotations

import itertools
import re
from pathlib import Path
from types import ModuleType

import pytest
import yaml

import opwright
from opwright.cli.main import main
from tests.compile.compiler import Compiler, compiler_program

INCLUDE = Path(opwright.__file__).parent / "libraries" / "include"
CHECKED = """
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <torch/library.h>
at::Tensor checked(const at::Tensor& x, const at::Tensor& other, int64_t n, double eps) {
  TORCH_CHECK(x.dim() == 2 && other.dim() == 1, "ranks");
  const auto rows = x.size(0);
  TORCH_CHECK(x.size(1) == other.size(0) || n == 0, "sizes ", rows);
  TORCH_CHECK(x.scalar_type() == other.scalar_type() && x.dtype() != at::kInt);
  TORCH_CHECK(n % 2 == 0 && n >= -4 && eps > 0);
  TORCH_CHECK(x.numel() + 1 < 9 - n);
  TORCH_CHECK(x.is_contiguous());
  return at::empty({0});
}
TORCH_LIBRARY(checked, m) {
  m.def("f(Tensor self, Tensor y, int n, float eps) -> Tensor");
  m.impl("f", c10::DispatchKey::CPU, &checked);
}
"""
#: A kernel without checks, with the signature that follows from the schema.
UNCHECKED = """
#include <ATen/ops/empty.h>
#include <required/kernels.h>
at::Tensor required::native::f(const at::Tensor&, const at::Tensor&, int64_t, double) { return at::empty({0}); }
"""


def drafted(text: str) -> str:
    """The fields that a library file has in comments, for the operators that a source registers."""
    Path("checked.cpp").write_text(text)
    assert main(["import", "checked.cpp", "--out", "checked.yaml", "--force"]) == 0
    fields = re.findall(r"^  # ((?:layout|requires)\b.*|- .*)$", Path("checked.yaml").read_text(), re.MULTILINE)
    return "".join(f"{line}\n" for line in fields)


@pytest.mark.thorough
def test_requirements_allow_what_kernels_do(torch: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel that checks nothing, with the drafted requirements, refuses the calls that the kernel itself refuses."""
    program = compiler_program()
    if program is None:
        pytest.skip("there is no C++ compiler")
    monkeypatch.chdir(tmp_path)
    entry = "".join(f"  {line}\n" for line in drafted(CHECKED).splitlines())
    assert entry.count("\n  - ") == 9
    assert "layout: {self: contiguous!}" in entry
    file = "namespace: required\noperators:\n- func: f(Tensor self, Tensor y, int n, float eps) -> Tensor\n"
    Path("required.yaml").write_text(f"{file}  dispatch: CPU\n{entry}")
    assert main(["generate", "--library", "required.yaml", "--torch", "auto", "--out", "gen"]) == 0
    Path("unchecked.cpp").write_text(UNCHECKED)
    (tmp_path / "build").mkdir()
    compiler = Compiler(program, tmp_path / "build", [Path("gen/include").resolve(), INCLUDE])
    sources = [tmp_path / "checked.cpp", tmp_path / "unchecked.cpp", *(tmp_path / "gen/src/required").glob("*.cpp")]
    torch.ops.load_library(compiler.library("required", sources))

    def refuses(operator: object, given: tuple[object, ...]) -> bool:
        try:
            operator(*given)  # type: ignore[operator]
        except RuntimeError:
            return True
        return False

    tensors = [
        torch.zeros(2, 3),
        torch.zeros(3, 2).t(),
        torch.zeros(2, 3, dtype=torch.int32),
        torch.zeros(3),
        torch.zeros(0, 3),
    ]
    others = [torch.zeros(3), torch.zeros(2), torch.zeros(3, dtype=torch.int32), torch.zeros(1, 3)]
    answers = []
    for given in itertools.product(tensors, others, (-6, -4, -3, 0, 2), (0.0, 1e-300)):
        answers.append(refuses(torch.ops.checked.f, given))
        assert refuses(torch.ops.required.f, given) == answers[-1], given
    assert 5 < answers.count(False) < len(answers) / 2


@pytest.mark.parametrize(
    ("old", "new", "kept"),
    [
        ("n % 2 == 0", "n % 2 == 1", 8),
        ("n % 2 == 0", "n / 2 == 0", 6),
        ("n % 2 == 0", "x.dim() == 2 == n", 8),
        ("n % 2 == 0", "std::abs(n) == 0", 6),
        ("n % 2 == 0", "n * limit == 0", 6),
        ("double eps", "float eps", 6),
        ("const auto rows = x.size(0);", "n = 2;", 2),
        ("const auto rows = x.size(0);", "x.zero_();", 2),
        ("const auto rows = x.size(0);", "if (n) { return x; }", 2),
        ("const auto rows = x.size(0);", "#ifdef MORE\nTORCH_CHECK(n == 3);\n#endif\n", 2),
        ("&checked);", '&checked); m.impl("f", c10::DispatchKey::CUDA, &unread);', 0),
    ],
)
def test_what_differs_is_not_drafted(
    old: str, new: str, kept: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Conditions that Python computes otherwise, that may not hold, or that one kernel lacks stay in the sources."""
    monkeypatch.chdir(tmp_path)
    fields = yaml.safe_load(drafted(CHECKED.replace(old, new))) or {}
    assert len(fields.get("requires", [])) == kept
    assert new not in str(fields)
