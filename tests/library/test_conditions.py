"""Operators and kernels under conditions of the preprocessor, and kernels with their own signatures."""

from __future__ import annotations

import re
from pathlib import Path
from types import ModuleType

import pytest

from opwright.cli.main import main
from opwright.libraries.dialect.conditions import condition_fault
from tests.compile.compiler import Compiler
from tests.library.conftest import INCLUDE, GenerateLibrary, generated_code

GUARDED = Path(__file__).parent / "guarded"

STABLE = """\
namespace: acme
abi: stable
operators:
- func: scale(Tensor self) -> Tensor
  outputs: like(self)
  dispatch: {CPU: "::scale_cpu", CUDA: {kernel: scale_cuda, if: WITH_CUDA > 1}}
- if: "!defined(USE_ROCM)"
  dispatch: CPU
  operators:
  - func: twice(Tensor self) -> Tensor
    outputs: like(self)
"""


def guarded_blocks(text: str, condition: str) -> list[list[str]]:
    """The lines between each `#if` of a condition and the next `#endif`."""
    blocks = re.findall(rf"#if {re.escape(condition)}\n(.*?)#endif", text, re.DOTALL)
    return [block.splitlines() for block in blocks]


def guarded_lines(text: str, condition: str) -> list[str]:
    """The lines of all such blocks."""
    return [line for block in guarded_blocks(text, condition) for line in block]


def test_stable_registrations_are_guarded(generate_library: GenerateLibrary) -> None:
    """Schemas, declarations and registrations stand inside `#if`, and fakes ask whether the operator is there."""
    out = generate_library(STABLE)
    source = (out / "src/acme/register_0.cpp").read_text()
    assert guarded_lines(source, "!defined(USE_ROCM)") == [
        '  m.def("twice(Tensor self) -> Tensor");',
        '  m.impl("twice", TORCH_BOX(&::acme::native::twice));',
    ]
    kernel, registration = guarded_blocks(source, "WITH_CUDA > 1")
    assert kernel[0] == "torch::stable::Tensor scale_CUDA(const torch::stable::Tensor & self) {"
    assert registration == ['  m.impl("scale", TORCH_BOX(&::acme::checked::scale_CUDA));']
    header = (out / "include/acme/kernels.h").read_text()
    assert len(guarded_lines(header, "WITH_CUDA > 1")) == 1
    assert "\ntorch::stable::Tensor scale_cpu(" in header
    fakes = (out / "python/acme/_fakes.py").read_text()
    asked = "if hasattr(getattr(_torch.ops.acme, 'twice', None), 'default'):"
    assert fakes.count("if hasattr(") == fakes.count(asked) == 1


def test_native_files_are_guarded(tmp_path_factory: pytest.TempPathFactory) -> None:
    """The operators of a condition have a source file of their own, and are guarded in the header for callers."""
    out = generated_code(GUARDED / "operators.yaml", tmp_path_factory)
    names = sorted(path.name for path in (out / "src/guarded").glob("*.cpp"))
    assert names == ["register_0.cpp", "register_1.cpp", "register_2.cpp"]
    assert "#if 1 < 2 && 1 > 2\n" in (out / "src/guarded/register_2.cpp").read_text()
    assert any(
        "struct GUARDED_API nothing" in line
        for line in guarded_lines((out / "include/guarded/ops.h").read_text(), "1 < 2 && 1 > 2")
    )


@pytest.mark.parametrize("abi", ["", "abi: stable\n"])
def test_headers_say_where_kernels_for_cuda_launch(
    torch: ModuleType, generate_library: GenerateLibrary, abi: str
) -> None:
    """The names in the comment are those of PyTorch's headers; a library without such kernels has no comment."""
    folder = Path(str(torch.__file__)).parent / "include"
    headers = "c10/cuda/CUDAStream.h", "c10/cuda/CUDAException.h", "torch/csrc/stable/macros.h"
    known = "".join((folder / name).read_text() for name in (*headers, "torch/csrc/inductor/aoti_torch/c/shim.h"))
    for key, count in (("CUDA", 2), ("CPU", 0)):
        entry = f"- {{func: f(Tensor self) -> Tensor, outputs: like(self), dispatch: {{{key}: f}}}}\n"
        header = generate_library(f"namespace: launched\n{abi}operators:\n{entry}") / "include/launched/kernels.h"
        names = re.findall(r"`(?:c10::cuda::)?(\w+)(?:\(\))?`", header.read_text())
        assert len(names) == count
        assert all(re.search(rf"\b{name}\(", known) for name in names), names


@pytest.mark.thorough
def test_only_what_holds_is_compiled(
    program: str, torch: ModuleType, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Where a condition does not hold, there is no operator and no kernel, and the generated tests know that."""
    out = generated_code(GUARDED / "operators.yaml", tmp_path_factory)
    compiler = Compiler(program, tmp_path, [out / "include", INCLUDE, GUARDED])
    sources = sorted((out / "src/guarded").glob("*.cpp"))
    torch.ops.load_library(compiler.library("guarded", [*sources, GUARDED / "kernels.cpp"]))
    operators = torch.ops.guarded
    assert operators.scale(torch.ones(2), 3.0).tolist() == [3, 3]
    assert operators.twice(torch.ones(2), [1, 2]).tolist() == [4, 4]
    filled = torch.zeros(2)
    operators.fill(filled, 7.0)
    assert filled.tolist() == [7, 7]
    with pytest.raises(RuntimeError, match="guarded::fill writes to `out`, elements of which share memory"):
        operators.fill(torch.zeros(1).expand(2), 7.0)
    assert not hasattr(operators, "nothing")
    assert not torch._C._dispatch_has_kernel_for_dispatch_key("guarded::scale", "CUDA")
    tests = (out / "tests/test_guarded.py").read_text().replace("import guarded\n", "")
    scope: dict[str, object] = {"__name__": "test_guarded"}
    exec(compile(tests, "test_guarded.py", "exec"), scope)
    listed = scope["samples"]
    assert callable(listed)
    assert [parameter.id for parameter in listed()] == ["twice-0-cpu"]


def test_conditions_are_in_dumps(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A dump has the condition of an operator, and that of a kernel."""
    (tmp_path / "acme.yaml").write_text(STABLE)
    assert main(["dump", "--library", str(tmp_path / "acme.yaml"), "--torch", "auto"]) == 0
    printed = capsys.readouterr().out
    assert '"condition": "!defined(USE_ROCM)"' in printed
    assert '"condition": "WITH_CUDA > 1"' in printed


@pytest.mark.parametrize(
    "text",
    [
        "",
        "A B",
        "A /* B */",
        "A // B",
        "(A",
        "A)",
        "&& A",
        "A ||",
        "!()",
        "A\n#endif",
        'A "B"',
        "A \\",
        "defined(A) \u2028",
    ],
)
def test_other_texts_are_no_conditions(text: str) -> None:
    """Nothing can end the line of `#if`, or begin a comment there."""
    assert condition_fault(text)


@pytest.mark.parametrize(
    "text",
    [
        "1", "defined A", "!defined(A) && (B >= 12 || C % 2 == 0)", "A ? B : C", "-1 < A",
        "!!A", "~A & 0xFFul", "(defined(A))",
    ],
)  # fmt: skip
def test_conditions(text: str) -> None:
    """Expressions of the preprocessor are conditions."""
    assert not condition_fault(text)
