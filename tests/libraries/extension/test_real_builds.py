"""Builds with the machine's compiler: the projects of `opwright new`, and operators in a script."""

from __future__ import annotations

import os
import re
import shutil
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


def run(folder: Path, *words: str, status: int = 0, **variables: str) -> str:
    """What Python prints in a folder; it must succeed, or end with another status."""
    environment = {**os.environ, **variables}
    done = subprocess.run(
        [sys.executable, *words], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == status, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A new project of a library, which is built."""
    folder = tmp_path_factory.mktemp("project")
    run(folder, "-m", "opwright", "new", "library", "acme-ops", ".")
    run(folder, "setup.py", "build_ext", "--inplace")
    return folder


def symbols_of(binary: Path) -> list[str]:
    """The symbols that a shared object needs of others."""
    listed = subprocess.run(["nm", "-D", "--undefined-only", binary], capture_output=True, text=True, check=True)
    return [line.split()[-1].partition("@")[0] for line in listed.stdout.splitlines()]


def of_python(symbols: list[str]) -> list[str]:
    """Those that Python defines, some of which differ from version to version."""
    return [symbol for symbol in symbols if symbol.startswith(("Py", "_Py"))]


@pytest.mark.skipif(sys.platform != "linux", reason="nm lists the symbols of ELF files")
def test_wheels_are_for_all_pythons(project: Path) -> None:
    """The shared object of a new project needs nothing of Python, as the tag `py3-none` of its wheel says."""
    symbols = symbols_of(project / "src/acme_ops/_C.so")
    assert any("torch" in symbol for symbol in symbols)
    assert not of_python(symbols)


def test_new_project_is_green(project: Path) -> None:
    """The own tests of a new project and the generated ones pass, without warnings."""
    path = os.pathsep.join([str(project / "src"), *filter(None, [os.environ.get("PYTHONPATH")])])
    report = run(project, "-m", "pytest", "-q", "-p", "no:cacheprovider", PYTHONPATH=path)
    assert " passed" in report
    assert "skipped" not in report
    assert "warning" not in report
    assert (project / "tests" / "test_acme_ops.py").exists()


CMAKE = """\
cmake_minimum_required(VERSION 3.21)
project(second CXX)
find_package(acme_ops REQUIRED)
add_library(second SHARED second.cpp)
target_link_libraries(second PRIVATE acme_ops::operators)
"""

SECOND = """\
#include <acme_ops/ops.h>
#include <torch/library.h>

TORCH_LIBRARY(second, m) {
  m.def("clipped_twice(Tensor x) -> Tensor", [](const at::Tensor& x) {
    return acme_ops::soft_clip(acme_ops::soft_clip(x, 3.0), 3.0);
  });
}
"""


def build_second(folder: Path, source: str, packages: Path) -> None:
    """Build a library that calls the operators of a package, which CMake finds by the folder that Python names."""
    (folder / "CMakeLists.txt").write_text(CMAKE)
    (folder / "second.cpp").write_text(source)
    script = "import acme_ops, torch; print(acme_ops.get_cmake_dir(), torch.utils.cmake_prefix_path)"
    package, prefix = run(folder, "-c", script, PYTHONPATH=str(packages)).split()
    options = [f"-Dacme_ops_DIR={package}", f"-DCMAKE_PREFIX_PATH={prefix}"]
    for words in (["-B", "build", *options], ["--build", "build"]):
        done = subprocess.run(["cmake", *words], cwd=folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]


@pytest.mark.skipif(shutil.which("cmake") is None, reason="there is no CMake here")
def test_cmake_links_the_operators(project: Path, tmp_path: Path) -> None:
    """Another library finds the package, and calls its operators from C++."""
    build_second(tmp_path, SECOND, project / "src")
    call = (
        "import acme_ops, torch; torch.ops.load_library('build/libsecond.so'); x = torch.ones(2)\n"
        "assert torch.ops.second.clipped_twice(x).equal(acme_ops.soft_clip(acme_ops.soft_clip(x, 3.0), 3.0))"
    )
    run(tmp_path, "-c", call, PYTHONPATH=str(project / "src"))


def test_the_page_about_cuda_builds_for_the_cpu(tmp_path: Path) -> None:
    """What the page prints for libraries with CUDA builds a new project with CUDA for a PyTorch of the CPU, too."""
    from tests.cuda.__main__ import setup_of_page

    run(tmp_path, "-m", "opwright", "new", "library", "acme-ops", ".", "--cuda")
    (tmp_path / "setup.py").write_text(setup_of_page("acme_ops"))
    run(tmp_path, "setup.py", "build_ext", "--inplace")
    report = run(tmp_path, "-m", "pytest", "-q", "-p", "no:cacheprovider", PYTHONPATH=str(tmp_path / "src"))
    assert " passed" in report


STABLE_PROJECT = {
    "steady.yaml": """\
namespace: acme_ops
abi: stable
torch: ">=2.10"
operators:
  - {func: "doubled(Tensor self) -> Tensor", outputs: like(self), dispatch: {CPU: doubled}}
  - {func: "times(Tensor self, int? count=1) -> Tensor", outputs: like(self), dispatch: {CPU: times}}
""",
    # A header of PyTorch comes before that of the kernels.
    "kernels.cpp": """\
#include <torch/csrc/stable/ops.h>
#include <acme_ops/kernels.h>
#include <acme_ops/ops.h>

namespace acme_ops::native {
torch::stable::Tensor doubled(const torch::stable::Tensor& self) {
  return acme_ops::times(self, 2);
}
torch::stable::Tensor times(const torch::stable::Tensor& self, std::optional<int64_t> count) {
  return torch::stable::subtract(self, self, 1 - count.value_or(0));
}
}  // namespace acme_ops::native
""",
    "setup.py": """\
from opwright.setuptools import operator_library
from setuptools import setup

setup(name="acme-ops", packages=["acme_ops"],
      **operator_library("acme_ops", yaml="steady.yaml", sources=["kernels.cpp"]))
""",
    "acme_ops/__init__.py": """\
from pathlib import Path

from acme_ops._load import load_library

load_library()

from acme_ops._ops import *


def get_cmake_dir():
    return str(Path(__file__).with_name("cmake"))
""",
}

STABLE_SECOND = """\
#include <acme_ops/ops.h>

static torch::stable::Tensor all_of(const torch::stable::Tensor& x) {
  return acme_ops::times(acme_ops::doubled(x));
}

STABLE_TORCH_LIBRARY(second, m) { m.def("all(Tensor x) -> Tensor"); }
STABLE_TORCH_LIBRARY_IMPL(second, CPU, m) { m.impl("all", TORCH_BOX(&all_of)); }
"""


@pytest.mark.skipif(sys.platform != "linux", reason="nm lists the symbols of ELF files")
@pytest.mark.skipif(shutil.which("cmake") is None, reason="there is no CMake here")
def test_stable_packages_have_callers_in_cpp(tmp_path: Path) -> None:
    """The header of a stable package serves its own kernels and another library, and the order of headers is free.

    The binary serves the oldest release that the file names, whichever header comes first.
    """
    project = tmp_path / "project"
    for name, text in STABLE_PROJECT.items():
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(text)
    run(project, "setup.py", "build_ext", "--inplace")
    symbols = symbols_of(project / "acme_ops/_C.so")
    # Headers of 2.13 need this function of 2.13, unless they compile for an older release.
    assert "torch_call_dispatcher" in symbols
    assert "torch_new_stable_ivalue" not in symbols
    assert not of_python(symbols)
    build_second(tmp_path, STABLE_SECOND, project)
    call = (
        "import acme_ops, torch; torch.ops.load_library('build/libsecond.so'); x = torch.ones(2)\n"
        "assert acme_ops.times(x, 3).tolist() == [3, 3]\n"
        "assert torch.ops.second.all(x).tolist() == [2, 2]"
    )
    run(tmp_path, "-c", call, PYTHONPATH=str(project))


def test_new_backend_is_green(tmp_path: Path) -> None:
    """A new backend builds, PyTorch imports it, and its tests pass; PyTorch's tests pass or have reasons."""
    run(tmp_path, "-m", "opwright", "new", "backend", "npu", ".")
    run(tmp_path, "setup.py", "--quiet", "egg_info", "build_ext", "--inplace")
    report = run(tmp_path, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider")
    assert " passed" in report
    # The sweep of random numbers leaves out operators without a kernel on the CPU, and those whose arguments it lacks.
    assert set(re.findall(r"^SKIPPED \[\d+\] (\S+?):", report, re.MULTILINE)) == {"tests/test_random_numbers.py"}
    (tmp_path / "pytorch" / "test").mkdir(parents=True)
    (tmp_path / "pytorch" / "test" / "test_few.py").write_text(FEW_TESTS)
    options = ("--pytorch-tests=pytorch/test", "--seconds=20", "-n", "0")
    run(tmp_path, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options, PYTHONPATH=str(tmp_path), status=1)
    table, *faults = (tmp_path / "build" / "upstream.txt").read_text().splitlines()[1:]
    # Twelve tests, of which eleven run on the device. Four are equal, of which one passes only where no other ran, and
    # one fails on both. The last share leaves out the one that fails on both, and one that is a limit of PyTorch's.
    assert " ".join(table.split()) == "test_few 12 11 4 1 0 36.4% 9.1% 44.4% 1 0 1 1 1 2"
    assert [fault.partition(",")[0] for fault in faults] == [
        "test_few::TestFew::test_crash: crash",
        "test_few::TestFew::test_wrong: failed",
    ]


#: Tests as PyTorch has them, of which most do not pass on a device.
FEW_TESTS = """
import ctypes
import os
import re
import torch
import warnings
from torch.testing._internal.common_device_type import dtypes, instantiate_device_type_tests, onlyCPU
from torch.testing._internal.common_utils import TestCase

class TestFew(TestCase):
    def test_crash(self, device):
        if self.device_type != "cpu":
            ctypes.string_at(torch.ones(2, device=device).data_ptr())

    @dtypes(torch.float32, torch.int64)
    def test_equal(self, device, dtype):
        self.assertEqual(torch.ones(2, device=device, dtype=dtype).sum(), 2)
        if self.device_type != "cpu":
            os.environ[f"equal on {self.device_type}"] = "yes"

    def test_fails_everywhere(self, device):
        self.assertEqual(torch.ones(2, device=device), torch.zeros(2, device=device))

    def test_large(self, device):
        torch.empty(6 << 30, device=device, dtype=torch.uint8)

    def test_map(self, device):
        torch.ones(2, device=device).map_(torch.ones(2, device=device), lambda mine, other: mine + other)

    @onlyCPU
    def test_of_the_cpu(self, device):
        pass

    def test_order(self, device):
        self.assertNotIn(f"equal on {self.device_type}", os.environ)

    def test_rows(self, device):
        rows = torch.ones(2, 2, device=device)
        torch.sparse.mm(rows.to_sparse_csr(), rows, "sum")

    def test_slow(self, device):
        if self.device_type != "cpu":
            ctypes.PyDLL(None).sleep(60)  # It holds the lock of Python, as a kernel that hangs would.

    def test_wrong(self, device):
        self.assertEqual(self.device_type, "cpu")

    def test_warnings(self, device):
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            torch.ones(2, device=device).cumsum(0)
        self.assertEqual(warned, [])

instantiate_device_type_tests(TestFew, globals())
"""


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
    assert "error[E1210]: `acme::native::cube` is wanted as `at::Tensor (const at::Tensor &)`" in done.stderr


STABLE_SCRIPT = '''\
import opwright, torch
yaml = """
namespace: steady
abi: stable
operators:
  - func: doubled(Tensor self) -> Tensor
    outputs: like(self)
    dispatch: {CPU: doubled}
  - func: product(Tensor self, Tensor other) -> Tensor
    outputs: broadcast(self, other)
    dispatch: {CPU: product}
"""
derivatives = """
- name: product(Tensor self, Tensor other) -> Tensor
  self: "self.is_complex() ? grad * other.conj() : at::real(grad * other.conj())"
  other: "other.is_complex() ? grad * self.conj() : at::real(grad * self.conj())"
  result: self_t * other_p + self_p * other_t
"""
cpp = """
#include <opwright/stable_call.h>
#include <torch/csrc/stable/ops.h>
torch::stable::Tensor steady::native::product(const torch::stable::Tensor& self, const torch::stable::Tensor& other) {
  return opwright::call("aten::mul", "Tensor", self, other);
}
torch::stable::Tensor steady::native::doubled(const torch::stable::Tensor& self) {
  auto result = torch::stable::clone(self);
  auto* data = static_cast<float*>(result.mutable_data_ptr());
  for (int64_t i = 0; i < result.numel(); ++i) data[i] *= 2;
  return result;
}
"""
for name in (None, "first", "second"):
    module = opwright.inline(yaml, cpp, derivatives=derivatives, name=name)
    assert module.__name__ == (name or "steady")
    assert module.doubled(torch.ones(2)).tolist() == [2, 2]
    compiled = torch.compile(module.doubled, fullgraph=True, dynamic=True, backend="aot_eager")
    assert compiled(torch.ones(3)).tolist() == [2, 2, 2]

# The gradient of a real argument is real, also beside a complex one, as the formulas say.
x, y, z = (torch.randn(2, dtype=dtype, requires_grad=True) for dtype in (torch.cdouble, torch.cdouble, torch.double))
for arguments in ((x, y), (x, z), (z, y)):
    assert torch.autograd.gradcheck(module.product, arguments, check_forward_ad=True)
    assert torch.autograd.gradgradcheck(module.product, arguments)
'''


def test_a_script_with_the_stable_interface(tmp_path: Path) -> None:
    """Operators with the stable C++ interface are built, called and traced by a script, under any names of modules."""
    (tmp_path / "script.py").write_text(STABLE_SCRIPT)
    run(tmp_path, "script.py", OPWRIGHT_CACHE_DIR=str(tmp_path / "cache"))


EDITED_CELLS = '''\
import opwright, torch
from torch._subclasses import FakeTensorMode

yaml = """
namespace: cells
operators:
- func: scale(Tensor x) -> Tensor
  dispatch: {CPU: scale}
  outputs: {size: "[2 * x.size(0)]", dtype: x.dtype}
"""
cpp = """
namespace cells::native {
inline double* factor() { static double value = FACTOR; return &value; }
at::Tensor scale(const at::Tensor& x) { return at::cat({x, x}) * *factor(); }
}
"""
derivatives = "- name: scale(Tensor x) -> Tensor\\n  x: FACTOR * (grad.narrow(0, 0, 2) + grad.narrow(0, 2, 2))\\n"

def value_and_gradient(function):
    x = torch.ones(2, requires_grad=True)
    result = function(x)
    (gradient,) = torch.autograd.grad(result.sum(), x)
    return result.tolist(), gradient.tolist()

@torch.compile(backend="aot_eager", fullgraph=True)
def compiled(x):
    return cells.scale(x)

for edit in range(100):
    factor = 1 + edit % 4
    size = "2 * x.size(0)" if factor % 2 else "x.size(0) * 2"
    texts = [text.replace("FACTOR", str(factor)).replace("2 * x.size(0)", size) for text in (yaml, cpp, derivatives)]
    if edit == 50:
        # A version that PyTorch refuses leaves the one before in its place.
        bad = texts[1] + 'TORCH_LIBRARY_FRAGMENT(cells, m) { m.def("scale(Tensor x) -> Tensor"); }'
        try:
            opwright.inline(texts[0], bad, derivatives=texts[2])
        except opwright.Fault as fault:
            assert "E1206" in str(fault) and "help:" in str(fault), fault
        else:
            raise AssertionError("PyTorch took an operator twice")
        assert value_and_gradient(cells.scale)[0] == [previous] * 4
    if edit:
        before = cells.scale
        waiting = torch.ones(2, requires_grad=True)
        graph = before(waiting).sum()
    cells = opwright.inline(texts[0], texts[1], derivatives=texts[2])
    expected = ([factor] * 4, [2 * factor] * 2)
    assert value_and_gradient(cells.scale) == expected, edit
    assert value_and_gradient(compiled) == expected, edit
    assert torch.ops.cells.scale(torch.ones(2)).tolist() == [factor] * 4
    with FakeTensorMode():
        assert cells.scale(torch.empty(2)).shape == (4,)
    if edit:
        # A function of the version before calls the new operator, and a graph of it computes what it recorded.
        assert before(torch.ones(2)).tolist() == [factor] * 4
        assert torch.autograd.grad(graph, waiting)[0].tolist() == [2 * previous] * 2
    if edit == 3:
        torch.library.opcheck(torch.ops.cells.scale.default, (torch.ones(2, requires_grad=True),))
    previous = factor
'''


def test_a_hundred_edits_of_a_cell(tmp_path: Path) -> None:
    """Calls, gradients, fakes and compiled functions are those of the last text; a refused one changes nothing."""
    (tmp_path / "cells.py").write_text(EDITED_CELLS)
    run(tmp_path, "cells.py", OPWRIGHT_CACHE_DIR=str(tmp_path / "cache"))
