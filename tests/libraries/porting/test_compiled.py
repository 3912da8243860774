"""Ported kernels give what the original ones give: a small library, built with both."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import pytest

from opwright.cli.main import main
from tests.compile.compiler import Compiler
from tests.compile.conftest import program, torch
from tests.libraries.porting.cases import load_cases
from tests.library.conftest import INCLUDE, generated_code
from tests.port_fuzz.__main__ import compare

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["program", "torch"]

SMALL = Path(__file__).parent / "small"
#: Cases that are compiled in every test run; the others include headers that do not exist, or need another compiler.
COMPILED = ("checks", "indexing", "kept_options", "options", "operators")
DTYPES = ("float32", "float64", "float16", "bfloat16", "int64", "int32", "uint8", "bool")


def built(namespace: str, kernels: Path, head: str, program: str, folders: pytest.TempPathFactory) -> Path:
    """The shared object of the library with the kernels in a folder."""
    file = folders.mktemp(namespace) / f"{namespace}.yaml"
    entries = (SMALL / "small.yaml").read_text(encoding="utf-8")
    file.write_text(f"namespace: {namespace}\n{head}{entries}", encoding="utf-8")
    generated = generated_code(file, folders)
    compiler = Compiler(program, folders.mktemp("build"), [kernels, generated / "include", INCLUDE], False)
    return compiler.library(namespace, [*sorted(generated.glob(f"src/{namespace}/*.cpp")), kernels / "kernels.cpp"])


@pytest.fixture(scope="session")
def ported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the ported kernels."""
    out = tmp_path_factory.mktemp("ported")
    assert main(["port", "--stable", str(SMALL), "--out", str(out)]) == 0
    return out


@pytest.fixture(scope="session")
def libraries(
    program: str, torch: ModuleType, ported: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[ModuleType, ModuleType]:
    """The operators of the library with the original kernels, and with the ported ones."""
    torch.ops.load_library(built("small_before", SMALL, "", program, tmp_path_factory))
    torch.ops.load_library(built("small_after", ported, "abi: stable\n", program, tmp_path_factory))
    return torch.ops.small_before, torch.ops.small_after


def results(operators: ModuleType, torch: ModuleType, dtype: str) -> Iterator[Tensor]:
    """The results of calls with tensors of a dtype."""
    torch.manual_seed(0)
    x = (torch.rand(4, 3) * 9).to(getattr(torch, dtype))
    point = torch.tensor(3).to(x.dtype)
    others = [x.flip(0), point, torch.arange(3), torch.tensor([1, 0, 1], dtype=torch.int8), torch.rand(3)]
    for first, second in [(x, other) for other in others] + [(point, point)]:
        # PyTorch subtracts no booleans, and adds nothing to what has a smaller type.
        if dtype != "bool":
            wide = first.to(torch.promote_types(first.dtype, second.dtype)).expand(x.shape).clone()
            yield operators.arithmetic(wide, second)
    for own in (x, point):
        if dtype != "bool":
            yield operators.numbers(own, 2, 1.5)
    yield from operators.made(x, 3)
    yield torch.tensor(operators.read(x))
    yield torch.tensor(operators.checked(x))
    if dtype != "bool":
        yield operators.filled(x)


@pytest.mark.thorough
@pytest.mark.parametrize("dtype", DTYPES)
def test_results_are_equal(libraries: tuple[ModuleType, ModuleType], torch: ModuleType, dtype: str) -> None:
    """Each operator has the same results, bit for bit and with the same dtypes."""
    before, after = (list(results(operators, torch, dtype)) for operators in libraries)
    assert [(result.dtype, result.shape) for result in after] == [(result.dtype, result.shape) for result in before]
    assert [number for number, pair in enumerate(zip(before, after, strict=True)) if not torch.equal(*pair)] == []


@pytest.mark.thorough
def test_views_and_indices_are_equal(libraries: tuple[ModuleType, ModuleType], torch: ModuleType) -> None:
    """Writes through accessors and views, and indices that are tensors, do what they did."""
    x, index = torch.rand(4, 3, dtype=torch.float64), torch.tensor([2, 0])
    before, after = (operators.rows(x, index) for operators in libraries)
    assert torch.equal(before, after)
    mask = torch.tensor([True, False, False, True])
    assert torch.equal(libraries[0].rows(x, mask), libraries[1].rows(x, mask))


@pytest.mark.thorough
def test_checks_have_their_messages(libraries: tuple[ModuleType, ModuleType], torch: ModuleType) -> None:
    """A check raises a `RuntimeError` with the message that the author wrote."""
    for operators in libraries:
        with pytest.raises(RuntimeError, match=r"two dimensions, not \[3\]"):
            operators.checked(torch.ones(3))


@pytest.mark.thorough
def test_pairs_and_messages_are_equal(libraries: tuple[ModuleType, ModuleType], torch: ModuleType) -> None:
    """Products of matrices, slices and writes through them are equal, and so are the messages of `TensorUtils.h`."""
    x = torch.rand(9, 9)
    before, after = (operators.paired(x, x.flip(0)) for operators in libraries)
    assert torch.equal(before, after)
    messages = []
    for operators in libraries:
        for pair in ((x, x.double()), (x[0], x), (x, x[1:])):
            with pytest.raises(RuntimeError) as raised:
                operators.paired(*pair)
            messages.append(str(raised.value).splitlines()[0])
    # The stable macro writes the place before the message.
    assert all(own in ported for own, ported in zip(messages[:3], messages[3:], strict=True)), messages


def test_nothing_of_the_small_library_stays(capsys: pytest.CaptureFixture[str]) -> None:
    """All lines that need a change are translated."""
    assert main(["port", str(SMALL), "--diff"]) == 0
    printed = capsys.readouterr().out
    assert "stays" not in printed
    assert printed.endswith("100%\n")


@pytest.mark.thorough
def test_what_is_translated_compiles(
    program: str, torch: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`--check` compiles the sources of cases with the stable headers: each line that is translated has no error."""
    for case in load_cases():
        if case.name in COMPILED:
            (tmp_path / f"{case.name}.cpp").write_text(case.source, encoding="utf-8")
    assert main(["port", str(tmp_path), "--check"]) == 1
    printed = capsys.readouterr().out
    assert "compiled:" not in printed
    assert "not compile" not in printed
    translated, compiled = re.findall(r"(\d+) of \d+ lines that|^(\d+) of them compile", printed, re.MULTILINE)
    assert translated[0] == compiled[1] != "0"


@pytest.mark.thorough
@pytest.mark.skipif(shutil.which("nvcc") is None, reason="there is no CUDA compiler")
def test_what_is_translated_of_cuda_compiles(
    torch: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each line with streams, guards and launches that is translated compiles with `nvcc`."""
    (case,) = [case for case in load_cases() if case.name == "cuda"]
    (tmp_path / "cuda.cu").write_text(case.source, encoding="utf-8")
    assert main(["port", str(tmp_path), "--check"]) == 1
    printed = capsys.readouterr().out
    assert "compiled:" not in printed
    assert "not compile" not in printed
    translated, compiled = re.findall(r"(\d+) of \d+ lines that|^(\d+) of them compile", printed, re.MULTILINE)
    assert translated[0] == compiled[1] != "0"


@pytest.mark.thorough
def test_lines_that_do_not_compile_are_not_counted(
    program: str, torch: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Errors of the compiler are told at the lines of the source, also those in macros and in headers."""
    (tmp_path / "own.h").write_text(
        "#pragma once\n#include <torch/all.h>\nint bad(const at::Tensor& x) { return x; }\n"
    )
    (tmp_path / "a.cpp").write_text(
        '#include "own.h"\n'
        "#define TWICE(x) at::add(x, x)\n"
        'at::Tensor f(const at::Tensor& x) { return at::mul(x, std::string("a")); }\n'
        "at::Tensor g(const std::string& s) { return TWICE(s); }\n"
        "at::Tensor h(const at::Tensor& x) { return x.contiguous(); }\n"
    )
    (tmp_path / "b.cpp").write_text('#include "absent.h"\nvoid f(at::Tensor x);\n')
    assert main(["port", str(tmp_path), "--check"]) == 1
    printed = capsys.readouterr().out
    places = set(re.findall(r"does not compile: \S*?(\w+\.\w+:\d+)", printed))
    assert {"own.h:3", "a.cpp:2", "a.cpp:3"} <= places
    assert "not compiled: " in printed
    assert "absent.h" in printed
    assert "a.cpp:5" not in places


@pytest.mark.thorough
def test_a_compiler_that_stops_says_nothing_of_the_rest(
    program: str, torch: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lines behind the last error that a compiler tells are not counted as compiled."""
    monkeypatch.setenv("CXXFLAGS", "-ferror-limit=1" if "clang" in program else "-fmax-errors=1")
    (tmp_path / "a.cpp").write_text(
        "#include <torch/all.h>\n"
        "\nint f() { return at::kFloat; }\n\nint g() { return at::kFloat; }\n\n"
        "at::Tensor h(const at::Tensor& x) { return x.contiguous(); }\n"
    )
    assert main(["port", str(tmp_path), "--check"]) == 1
    printed = capsys.readouterr().out
    assert "not compiled: " in printed
    assert "0 of them compile" in printed


@pytest.mark.thorough
def test_random_functions_are_equal(program: str, torch: ModuleType) -> None:
    """What the port translates of random functions compiles, and gives the same tensors or raises: `make port-fuzz`."""
    outcome = compare(60, 7, numbers=True)
    assert outcome.differences == []
    assert outcome.compared > 40
