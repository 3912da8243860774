"""A wrong kernel is refused by the generated tests, their audit, `make asan`, and `opwright accept`."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from opwright.cli.main import main
from opwright.libraries.extension.inline import build_texts
from opwright.libraries.judge.accept import Judge
from opwright.libraries.judge.candidates import SANITIZED
from tests.asan.__main__ import Built, Library, refused_kernels

pytest.importorskip("torch")
pytestmark = [pytest.mark.thorough, pytest.mark.skipif(sys.platform != "linux", reason="workers need Linux")]

LIBRARY = """\
namespace: four
abi: stable
torch: ">=2.13"
operators:
- func: scale(Tensor x, Tensor by) -> Tensor
  dispatch: {CPU: scale}
  dims: {x: "n d", by: d, return: "n d"}
  dtypes: {x: float32, by: x, return: x}
  layout: {x: contiguous, by: contiguous}
  reference: four_reference:scale
"""
KERNEL = """\
#include <torch/csrc/stable/ops.h>

#include <cstdlib>
#include <map>
#include <string>
#include <vector>

using torch::stable::Tensor;

namespace four::native {
Tensor scale(const Tensor& x, const Tensor& by) {
  const char* variable = std::getenv("WRONG");
  const std::string wrong = variable ? variable : "";
  Tensor result = torch::stable::empty_like(x);
  const int64_t rows = x.size(0), columns = x.size(1);
  const float* from = static_cast<const float*>(x.const_data_ptr());
  const float* factor = static_cast<const float*>(by.const_data_ptr());
  float* to = static_cast<float*>(result.mutable_data_ptr());
  // By the address of a tensor and its size, which other numbers may have later.
  static std::map<std::pair<const float*, int64_t>, std::vector<float>> known;
  const int64_t counted = wrong == "tail" ? columns / 4 * 4 : columns;
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t column = 0; column < columns; ++column) {
      const float value = from[row * columns + column] * factor[column];
      to[row * columns + column] = wrong == "zeros" || column >= counted ? 0 : value;
    }
  }
  if (wrong == "memo" && rows * columns > 0) {
    auto& kept = known[{from, rows * columns}];
    if (kept.empty()) kept.assign(to, to + rows * columns);
    std::copy(kept.begin(), kept.end(), to);
  }
  if (wrong == "outside" && rows * columns > 0) to[0] += 0 * from[rows * columns];
  return result;
}
} // namespace four::native
"""
OPENING = """\
import ctypes, torch
from pathlib import Path
path = str(Path(__file__).with_name("four.so"))
torch.ops.load_library(path)
register = ctypes.CDLL(path).opwright_register
register.restype = ctypes.c_char_p
assert not register(1)
from four import _ops, _reference
"""


class Four:
    """The library, built with and without AddressSanitizer, and its generated tests."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "four.yaml"
        self.tests = folder / "out" / "tests"
        self.sanitized, self.shared = (
            Path(build_texts(LIBRARY, KERNEL, flags=flags)) / "four.so" for flags in (SANITIZED, ())
        )
        self.file.write_text(LIBRARY, encoding="utf-8")
        (folder / "four_reference.py").write_text("def scale(x, by):\n    return x * by\n", encoding="utf-8")
        assert main(["generate", "--library", str(self.file), "--out", str(folder / "out")]) == 0
        package = shutil.copytree(self.shared.parent, self.tests / "four")
        (package / "__init__.py").write_text(OPENING, encoding="utf-8")

    def test_fails(self, wrong: str, chosen: str, audit: str) -> bool:
        """Whether a generated test of those that are chosen refuses the kernel."""
        variables = {"WRONG": wrong, "OPWRIGHT_AUDIT": audit, "PYTHONPATH": str(self.file.parent)}
        ran = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-c", os.devnull, "-p", "no:cacheprovider", "-W", "ignore",
             "--rootdir", str(self.tests), "-k", chosen, str(self.tests)],
            env={**os.environ, **variables}, cwd=self.tests, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert ran.returncode in (0, 1), ran.stdout + ran.stderr
        return ran.returncode == 1


@pytest.fixture(scope="module")
def four(tmp_path_factory: pytest.TempPathFactory) -> Four:
    """The library."""
    return Four(tmp_path_factory.mktemp("four"))


@pytest.mark.parametrize("wrong", ["", "zeros", "tail", "memo", "outside"])
def test_wrong_kernels_are_refused_by_each(four: Four, wrong: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The audit, `make asan` and `opwright accept` have the same checks; other tests compare the same numbers.

    A right kernel passes all of them.
    """
    monkeypatch.setenv("WRONG", wrong)
    with Judge(f"{four.file}::scale") as judge:
        verdict = judge.accept(str(four.shared))
    library = Library(four.file, (), four.file.parent)
    findings = refused_kernels(library, Built(four.sanitized, four.tests, four.tests))
    is_wrong = bool(wrong)
    assert verdict.verdict == ("refused" if is_wrong else "accepted"), verdict
    assert bool(findings) == is_wrong, findings
    assert wrong != "outside" or "AddressSanitizer" in findings[0]
    assert four.test_fails(wrong, "test_accepted", str(four.file)) == is_wrong
    fails = four.test_fails(wrong, "test_reference or test_values or test_sizes", "")
    # Whether memory of an earlier call is that of a later one is up to the allocator.
    assert fails == (wrong in ("zeros", "tail")) or wrong == "memo"
