"""What kernels check before anything else becomes requirements that allow the same calls."""

from __future__ import annotations

import itertools
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

import opwright
from opwright.cli.main import main
from tests.compile.compiler import Compiler, compiler_program

INCLUDE = Path(opwright.__file__).parent / "libraries" / "include"
CHECKED = """
#include <ATen/Dispatch.h>
#include <ATen/TensorUtils.h>
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
at::Tensor shaped(const at::Tensor& a, const at::Tensor& b, const at::Tensor& c, bool is_wide) {
  at::TensorArg first{a, "a", 1}, second{b, "b", 2};
  at::CheckedFrom from = "shaped";
  at::checkAllSameType(from, {first, second});
  auto copy = c.contiguous();
  TORCH_CHECK(a.dim() == 2 && b.ndimension() == 3 && copy.dim() == 1);
  TORCH_CHECK(b.size(-1) == 5, "five columns");
  TORCH_CHECK(a.size(0) == b.size(0));
  TORCH_CHECK(copy.size(0) == a.size(0) && c.scalar_type() == at::kLong);
  TORCH_CHECK(!is_wide || a.size(1) == 2 * c.size(0));
  auto result = at::empty({0}, a.options());
  AT_DISPATCH_FLOATING_TYPES_AND(at::ScalarType::Half, a.scalar_type(), "shaped", [&] {});
  return result;
}
TORCH_LIBRARY(checked, m) {
  m.def("f(Tensor self, Tensor y, int n, float eps) -> Tensor");
  m.def("g(Tensor a, Tensor b, Tensor c, bool wide) -> Tensor");
  m.impl("g", c10::DispatchKey::CPU, &shaped);
  m.impl("f", c10::DispatchKey::CPU, &checked);
}
"""
#: Kernels without checks, with the signatures that follow from the schemas.
UNCHECKED = """
#include <ATen/ops/empty.h>
#include <required/kernels.h>
at::Tensor required::native::f(const at::Tensor&, const at::Tensor&, int64_t, double) { return at::empty({0}); }
at::Tensor required::native::g(const at::Tensor&, const at::Tensor&, const at::Tensor&, bool) { return at::empty({0}); }
"""


def drafted(text: str) -> dict[str, dict[str, Any]]:
    """The fields that a library file has in comments, by the operators that a source registers."""
    Path("checked.cpp").write_text(text)
    assert main(["import", "checked.cpp", "--out", "checked.yaml", "--force"]) == 0
    written = re.sub(
        r"^  # ((?:dims|dtypes|layout|requires):|- )", r"  \1", Path("checked.yaml").read_text(), flags=re.M
    )
    fields = ("dims", "dtypes", "layout", "requires")
    return {
        entry["func"]: {field: entry[field] for field in fields if field in entry}
        for entry in yaml.safe_load(written)["operators"]
    }


@pytest.mark.thorough
def test_requirements_allow_what_kernels_do(torch: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel that checks nothing, with the drafted requirements, refuses the calls that the kernel itself refuses."""
    program = compiler_program()
    if program is None:
        pytest.skip("there is no C++ compiler")
    monkeypatch.chdir(tmp_path)
    entries = drafted(CHECKED)
    checked, shaped = entries.values()
    assert checked["layout"] == {"self": "contiguous!"}
    assert shaped["dims"] == {"a": "n _", "b": "n _ 5", "c": "n"}
    assert shaped["dtypes"] == {"a": ["float32", "float64", "float16"], "b": "a", "c": "int64"}
    assert shaped["requires"] == ["not wide or a.size(1) == 2 * c.size(0)"]
    operators = [{"func": func, "dispatch": "CPU", **entry} for func, entry in entries.items()]
    Path("required.yaml").write_text(yaml.safe_dump({"namespace": "required", "operators": operators}, sort_keys=False))
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
    tensors = [torch.zeros(3, 6), torch.zeros(3, 2), torch.zeros(2, 6, dtype=torch.float16), torch.ones(3, 6).int()]
    others = [torch.zeros(3, 1, 5), torch.zeros(2, 2, 5).half(), torch.zeros(3, 5), torch.zeros(3, 1, 4)]
    thirds = [torch.zeros(3, dtype=torch.int64), torch.zeros(2, dtype=torch.int64), torch.zeros(3)]
    answers = []
    for given in itertools.product(tensors, [*others, torch.ones(3, 1, 5).int()], thirds, (False, True)):
        answers.append(refuses(torch.ops.checked.g, given))
        assert refuses(torch.ops.required.g, given) == answers[-1], given
    assert 3 < answers.count(False) < len(answers) / 2


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
    fields = next(iter(drafted(CHECKED.replace(old, new)).values()))
    assert sum(len(fields.get(field, ())) for field in ("dims", "dtypes", "requires")) == kept
    assert new not in str(fields)


def test_a_kernel_has_more_parameters_than_a_schema(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A build without a kernel may define an operator of no arguments in its place, as vLLM does."""
    monkeypatch.chdir(tmp_path)
    source = CHECKED.replace('m.def("f(Tensor self, Tensor y, int n, float eps) -> Tensor");', 'm.def("f() -> ()");')
    declared = re.sub(r"(?s)(at::Tensor checked\(.*?\)) \{.*?\n\}\n", r"\1;\n", source, count=1)
    assert declared.count("TORCH_CHECK") < source.count("TORCH_CHECK")
    for text in (source, declared):
        assert not drafted(text)["f() -> ()"].keys() & {"dims", "dtypes", "requires", "layout"}
