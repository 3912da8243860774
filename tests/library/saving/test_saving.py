"""Results that are saved for the backward pass and not returned: compiled, loaded and differentiated."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from opwright.cli.main import main
from tests.compile.compiler import Compiler
from tests.library.conftest import INCLUDE, generated_code

HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def generated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The generated code of the library."""
    return generated_code(HERE / "operators.yaml", tmp_path_factory)


@pytest.fixture(scope="session")
def saving(program: str, torch: ModuleType, generated: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:  # noqa: ANN401
    """The Python module of the library, which is compiled and loaded."""
    compiler = Compiler(program, tmp_path_factory.mktemp("saving_build"), [generated / "include", INCLUDE])
    sources = [generated / "src/saving/register_0.cpp", HERE / "kernels.cpp"]
    torch.ops.load_library(compiler.library("saving", sources))
    sys.path.insert(0, str(generated / "python"))
    return importlib.import_module("saving._ops")


def test_callers_see_what_is_returned(generated: Path) -> None:
    """The Python function, and that of C++, return the results without the saved ones."""
    module = (generated / "python/saving/_ops.py").read_text()
    assert "def segment_mean(self: Tensor, index: Tensor, size: IntLike) -> Tensor:" in module
    assert "saved" not in module
    header = (generated / "include/saving/ops.h").read_text()
    assert "at::Tensor segment_mean(const at::Tensor & self, const at::Tensor & index, int64_t size) {" in header
    assert '"segment_mean": Operator(' in (generated / "tests/test_saving.py").read_text()


@pytest.mark.thorough
def test_results_and_gradients(saving: Any, torch: ModuleType) -> None:  # noqa: ANN401
    """The operator returns what its kernel computes, and its derivative uses what it saved, by name."""
    index = torch.tensor([0, 2, 0, 2, 2])
    rows = torch.randn(5, 2, dtype=torch.float64, requires_grad=True)
    mean = saving.segment_mean(rows, index, 3)
    torch.testing.assert_close(mean[2], rows[[1, 3, 4]].mean(0))
    assert torch.autograd.gradcheck(saving.segment_mean, (rows, index, 3))
    assert torch.autograd.gradgradcheck(saving.segment_mean, (rows, index, 3))
    total, energy = saving.moments(rows, eps=0.5)
    torch.testing.assert_close((total, energy), (rows.sum(), (rows - 1).square().sum() + 0.5))
    assert torch.autograd.gradcheck(saving.moments, (rows,))


@pytest.mark.thorough
def test_compiled_programs_and_opcheck(saving: Any, torch: ModuleType) -> None:  # noqa: ANN401
    """The operator passes opcheck with gradients, and compiles with symbolic sizes, forward and backward."""
    index = torch.tensor([0, 2, 0, 2, 2])
    for operator, arguments in (
        (torch.ops.saving.segment_mean.default, (torch.randn(5, 2, requires_grad=True), index, 3)),
        (torch.ops.saving.moments.all, (torch.randn(5, requires_grad=True),)),
    ):
        assert set(torch.library.opcheck(operator, arguments).values()) == {"SUCCESS"}

    compiled = torch.compile(lambda x: saving.segment_mean(x * 2, index, 3).sin(), fullgraph=True, dynamic=True)
    for columns in (2, 3):
        rows = torch.randn(5, columns, requires_grad=True)
        result = compiled(rows)
        expected = saving.segment_mean(rows * 2, index, 3).sin()
        torch.testing.assert_close(result, expected)
        gradients = [torch.autograd.grad(value.sum(), rows)[0] for value in (result, expected)]
        torch.testing.assert_close(*gradients)


@pytest.mark.thorough
def test_nothing_is_saved_without_gradients(saving: Any, torch: ModuleType) -> None:  # noqa: ANN401
    """The backward graph keeps the index and the saved result; without gradients it keeps nothing."""
    kept: list[list[float]] = []
    index = torch.tensor([0, 1])

    def keep(tensor: Any) -> Any:  # noqa: ANN401
        kept.append(tensor.tolist())
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        saving.segment_mean(torch.ones(2, 2), index, 2)
        assert not kept
        saving.segment_mean(torch.ones(2, 2, requires_grad=True), index, 2)
    assert sorted(kept) == [[0, 1], [1, 1]]


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ("f(Tensor x) -> (Tensor a, Tensor b)\n  saved: c", "`f` has no result `c`"),
        ("f(Tensor x) -> (Tensor, Tensor)\n  saved: c", "name the results in `func`"),
        ("f(Tensor x) -> (Tensor a, Tensor b)\n  saved: [a, b]", "it returns none of them"),
        ("f(Tensor(a!) x) -> (Tensor a, Tensor b)\n  saved: b", "it writes to an argument"),
        ("f(Tensor x) -> (Tensor a, Tensor b)\n  saved: b\n  autogen: f.out", "`autogen` makes other forms of it"),
    ],
)
def test_entries_that_cannot_save(tmp_path: Path, capsys: pytest.CaptureFixture[str], entry: str, reason: str) -> None:
    """A result that cannot be saved is an error at the field."""
    file = tmp_path / "acme.yaml"
    file.write_text(f"namespace: acme\noperators:\n- func: {entry}\n  dispatch: {{CPU: f}}\n", encoding="utf-8")
    assert main(["check", "--torch", "auto", "--library", str(file)]) == 1
    printed = capsys.readouterr().out
    assert "error[E1140]" in printed
    assert reason in printed
