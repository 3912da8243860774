"""Code around kernels over borrowed tensors, without a compiler: declarations, tables, modules and formulas."""

from __future__ import annotations

import ast
import subprocess
from pathlib import Path

import pytest
import torch

from opwright.cli.main import main
from opwright.libraries.extension.frameworks import is_installed_for, view_frameworks
from opwright.libraries.extension.project import write_project
from opwright.libraries.extension.toolchain import include_folder
from opwright.libraries.frameworks.jax_formulas import NoJax, jax_formula
from opwright.libraries.frameworks.view_convention import new_results, shared_functions, signature
from opwright.model.native_function import NativeFunction
from tests.compile.compiler import compiler_program
from tests.dialects.test_library import loaded
from tests.library.conftest import GenerateLibrary
from tests.library.conftest import generate_library as generate_library

LIBRARY = """\
namespace: acme
abi: dlpack
torch: ">=2.10"
operators:
- func: scale(Tensor x, float factor=2.0) -> Tensor
  dispatch: {"CPU, CUDA": scale}
  dims: {x: "*b d", return: "*b d"}
  layout: {x: contiguous}
- func: turn_(Tensor(a!) x, Tensor? by=None, *, int[2] steps=3, str mode='up') -> ()
  dispatch: {CPU: turn}
  dims: {x: "*b", by: "*b"}
- func: split(Tensor x, Tensor[] ys) -> (Tensor zeroth, Tensor first)
  dispatch: {CPU: split}
  dims: {x: "*b", ys: "*b", zeroth: "*b", first: "*b"}
"""


def functions(text: str = LIBRARY) -> list[NativeFunction]:
    """Operators of a library."""
    libraries, sink = loaded(text)
    sink.raise_if_errors()
    return shared_functions(libraries[0])


def test_signatures_of_kernels() -> None:
    """Views come in the order of the schema, and then those of results, with names that no argument has."""
    texts = [signature(function).declaration("kernel").replace("::opwright::", "") for function in functions()]
    assert texts == [
        "void kernel(TensorView x, double factor, TensorView out)",
        "void kernel(TensorView x, ::std::optional<TensorView> by, Span<int64_t> steps, ::std::string_view mode)",
        "void kernel(TensorView x, Span<TensorView> ys, TensorView zeroth, TensorView first)",
    ]
    assert [[result.name for result in new_results(function)] for function in functions()] == [
        ["out"],
        [],
        ["zeroth", "first"],
    ]


def test_sources_name_one_framework_each(generate_library: GenerateLibrary) -> None:
    """The shared source includes nothing of a framework, and the others nothing of each other."""
    out = generate_library(LIBRARY.partition("- func: split")[0])
    sources = {
        name: (out / "src" / "acme" / f"{name}.cpp").read_text() for name in ("calls", "torch", "jax", "tvm_ffi")
    }
    words = {"torch": "torch_call", "jax": "jax_call", "tvm_ffi": "tvm_ffi_call"}
    for name, source in sources.items():
        assert {framework for framework, word in words.items() if word in source} == {name} - {"calls"}
    assert "{&cpu_0, &cuda_0}" in sources["calls"]
    assert "{&cpu_1, nullptr}" in sources["calls"]
    assert "Layout::contiguous" in sources["calls"]
    assert "static const int64_t items[] = {3, 3}" in sources["calls"]
    assert "opwright_acme_scale_cuda" in sources["jax"]
    for module in ("jax.py", "_jax_runtime.py", "tvm_ffi.py", "torch.py"):
        ast.parse((out / "python" / "acme" / module).read_text())


def test_operators_without_tensors_are_called(generate_library: GenerateLibrary) -> None:
    """PyTorch chooses no kernel for the CPU where no tensor is passed: it serves all calls then, without a warning."""
    entry = """- func: count(int n) -> Tensor
  dispatch: {CPU: count}
  dims: {return: "{n}"}
  dtypes: {return: int64}
"""
    text = LIBRARY.partition("- func: split")[0] + entry
    _, sink = loaded(text)
    assert not list(sink)
    source = (generate_library(text) / "src" / "acme" / "torch.cpp").read_text()
    _, _, registered = source.partition('"CompositeExplicitAutograd"')
    assert 'm.impl("count", opwright_count_cpu);' in registered
    assert 'm.impl("scale"' not in registered


def test_one_number_stands_for_the_items_of_a_list(generate_library: GenerateLibrary) -> None:
    """As in PyTorch, if the list has a given length; another list is passed on."""
    out = generate_library(LIBRARY.partition("- func: split")[0])
    for module in ("jax.py", "tvm_ffi.py"):
        text = (out / "python" / "acme" / module).read_text()
        assert "(x, by, [steps] * 2 if isinstance(steps, int) else steps, mode)" in text


def test_modules_have_the_names_and_defaults_of_the_schema(generate_library: GenerateLibrary) -> None:
    """Functions of JAX and TVM FFI are called alike, and JAX gives what is written."""
    out = generate_library(LIBRARY.partition("- func: split")[0])
    jax = (out / "python" / "acme" / "jax.py").read_text()
    tvm_ffi = (out / "python" / "acme" / "tvm_ffi.py").read_text()
    parameters = "*, steps: Sequence[int] = [3, 3], mode: str = 'up'"
    assert f"def turn_(x: ArrayLike, by: ArrayLike | None = None, {parameters}) -> Array:" in jax
    assert f"def turn_(x: Any, by: Any | None = None, {parameters}) -> None:" in tvm_ffi
    assert "def scale(x: ArrayLike, factor: float = 2.0) -> Array:" in jax


def test_libraries_without_a_framework_have_no_code_for_it(generate_library: GenerateLibrary) -> None:
    """A file that names PyTorch alone gets no modules of the others."""
    text = LIBRARY.partition("- func: split")[0].replace("abi: dlpack\n", "abi: dlpack\nframeworks: [torch]\n")
    out = generate_library(text)
    assert not (out / "python" / "acme" / "jax.py").exists()
    assert not (out / "src" / "acme" / "tvm_ffi.cpp").exists()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("((_grad_0 * y) - _torch.ops.aten.exp.default(x))", "_grad_0 * y - _jnp.exp(x)"),
        ("_torch.ops.acme.back.default(_grad_0, x, [_need_x, _need_y])", "back(_grad_0, x, [True, True])"),
        ("_torch.ops.aten.sum_to_size.default(x, _x_shape)", "_runtime.sum_to_size(x, _x_shape)"),
        ("x.numel()", "x.size"),
        ("_torch.ops.aten.to.dtype(x, _torch.float32)", "_runtime.to(x, _runtime.dtypes.float32)"),
    ],
)
def test_formulas_in_jax(text: str, expected: str) -> None:
    """Calls of the library's operators are functions of the module, and plain arithmetic is that of JAX."""
    assert jax_formula(text, "acme", {("back", "default"): "back"}) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("_torch.ops.aten.cholesky.default(x)", "JAX has no `aten::cholesky`"),
        ("_torch.ops.other.f.default(x)", "JAX has no `other::f`"),
        ("_torch.ops.acme.gone.default(x)", "JAX does not have `acme::gone`"),
        ("x.stride()", r"JAX has no form of `x\.stride` in the formula"),
        ("x.device", r"JAX has no form of `x\.device` in the formula"),
    ],
)
def test_formulas_that_jax_lacks(text: str, message: str) -> None:
    """Everything else is named."""
    with pytest.raises(NoJax, match=message):
        jax_formula(text, "acme", {})


def test_new_project(tmp_path: Path) -> None:
    """A project has its frameworks in its file, a test for each, and no finding."""
    folder = tmp_path / "acme"
    written = write_project("library", "acme", str(folder), force=False, frameworks=("jax", "tvm_ffi"))
    names = sorted([Path(path).name for path in written])
    assert [name for name in names if name.startswith("test_")] == ["test_jax.py", "test_tvm_ffi.py"]
    assert "frameworks: [jax, tvm_ffi]\n" in (folder / "operators.yaml").read_text()
    files = [str(folder / name) for name in ("operators.yaml", "derivatives.yaml")]
    assert main(["check", *files]) == main(["format", "--check", *files]) == 0
    for arguments in (["--frameworks", "torch,jaxx"], ["--frameworks", "jax", "--cuda"], ["--frameworks", ""]):
        assert main(["new", "library", "acme", str(tmp_path / "other"), *arguments]) == 2


def test_files_of_packages(tmp_path: Path) -> None:
    """A package has the modules of its frameworks; a library without views has none of these builds."""
    assert is_installed_for("acme/_ops.py", ["torch"])
    assert not is_installed_for("acme/_ops.py", ["jax"])
    assert is_installed_for("acme/_jax_runtime.py", ["jax", "tvm_ffi"])
    path = tmp_path / "acme.yaml"
    for text, expected in (
        ("namespace: acme\noperators: []\n", None),
        ("namespace: acme\nabi: dlpack\noperators: []\n", ("torch", "jax", "tvm_ffi")),
        ("namespace: acme\nabi: dlpack\nframeworks: [jax, torch]\noperators: []\n", ("torch", "jax")),
        ("namespace: [", None),
    ):
        path.write_text(text, encoding="utf-8")
        assert view_frameworks([str(path)]) == expected
    assert view_frameworks([str(tmp_path / "missing.yaml")]) is None


#: Prints elements of dtypes that C++ has no types of, and of a tensor whose rows go backwards with gaps.
ELEMENTS = r"""
#include <opwright/view_requirements.h>
#include <cstdio>

template <class Bits>
void print_all(std::int32_t dtype, unsigned count) {
  for (unsigned number = 0; number < count; ++number) {
    const auto bits = static_cast<Bits>(number);
    std::printf("%.17g\n", opwright::element_at<double>(reinterpret_cast<const char*>(&bits), dtype));
  }
}

int main() {
  print_all<std::uint16_t>(5, 65536);
  print_all<std::uint16_t>(15, 65536);
  print_all<std::uint8_t>(23, 256);
  const std::int32_t numbers[] = {0, 1, 2, 3, 4, 5, 6, 7};
  std::int64_t sizes[] = {2, 3}, strides[] = {4, -1};
  opwright::ForeignTensor tensor;
  tensor.data = const_cast<std::int32_t*>(numbers + 2);
  tensor.rank = 2;
  tensor.type_code = 0;
  tensor.sizes = sizes;
  tensor.strides = strides;
  const opwright::TensorView view(tensor, nullptr);
  const auto found = opwright::elements<std::int64_t>(view);
  for (const std::int64_t value : found.values) {
    std::printf("%lld\n", static_cast<long long>(value));
  }
  std::printf("%lld\n", static_cast<long long>(found.row));
  sizes[1] = 0;
  const auto none = opwright::elements<double>(view);
  std::printf("%zu %lld\n", none.values.size(), static_cast<long long>(none.row));
}
"""


@pytest.mark.thorough
def test_elements_are_read(tmp_path: Path) -> None:
    """Values of every half, bfloat16 and float8 are PyTorch's, and elements come in the order of the dimensions."""
    compiler = compiler_program()
    if compiler is None:
        pytest.skip("there is no C++ compiler")
    source = tmp_path / "elements.cpp"
    source.write_text(ELEMENTS, encoding="utf-8")
    command = [compiler, "-std=c++17", "-O0", f"-I{include_folder()}", str(source), "-o", str(tmp_path / "elements")]
    subprocess.run(command, check=True)
    lines = subprocess.run([str(tmp_path / "elements")], check=True, capture_output=True, text=True).stdout.split("\n")
    bits = torch.arange(65536, dtype=torch.int32).to(torch.uint16)
    small = torch.arange(256, dtype=torch.uint8)
    expected = torch.cat(
        [
            bits.view(torch.float16).double(),
            bits.view(torch.bfloat16).double(),
            small.view(torch.float8_e5m2).double(),
        ]
    )
    found = torch.tensor([float(line) for line in lines[: len(expected)]], dtype=torch.float64)
    torch.testing.assert_close(found, expected, rtol=0, atol=0, equal_nan=True)
    assert torch.equal(found.signbit() & ~found.isnan(), expected.signbit() & ~expected.isnan())
    assert lines[len(expected) :] == ["2", "1", "0", "6", "5", "4", "3", "0 1", ""]


def test_advice_keeps_the_kernels(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Where `torch.compile` cannot replace a write, the native interface is no help for borrowed tensors."""
    entry = '- func: fill_(Tensor(a!) x, float by) -> Tensor(a!)\n  dispatch: {CPU: fill}\n  dims: {x: "*b"}\n'
    helps = []
    for abi in ("stable", "dlpack"):
        file = tmp_path / f"{abi}.yaml"
        file.write_text(f"namespace: acme\nabi: {abi}\noperators:\n{entry}  tags: inplace\n")
        assert main(["check", "--library", str(file), "--torch", "auto"]) == 1
        text = "".join(capsys.readouterr())
        assert "warning[W0470]" in text
        helps.append([line.partition("help: ")[2] for line in text.splitlines() if "help: " in line])
    alone = "return nothing of what it writes"
    assert helps == [[f"{alone}, or write `abi: native`"], [alone]]
