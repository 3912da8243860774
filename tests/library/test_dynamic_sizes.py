"""Declared outputs with sizes that depend on values: programs are compiled with the generated fakes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import pytest

from opwright.cli.main import main

if TYPE_CHECKING:
    from torch import Tensor

LIBRARY = """\
namespace: dyn
operators:
- func: kept(Tensor self, float above) -> Tensor
  dispatch: {CPU: kept}
  outputs: {size: "[dynamic(max=self.size(0)), self.size(1)]"}
- func: places(Tensor self) -> Tensor
  dispatch: {CPU: places}
  outputs: {size: "[dynamic(), self.dim()]", dtype: int64}
- func: few(Tensor self, int limit) -> (Tensor, Tensor)
  dispatch: {CPU: few}
  outputs: [{size: "[dynamic(limit, min=1)]"}, like(self)]
"""


@pytest.fixture
def operators(torch: ModuleType, tmp_path: Path) -> Iterator[ModuleType]:
    """The operators with kernels in Python, and with the generated fakes."""
    file, out = tmp_path / "dyn.yaml", tmp_path / "out"
    file.write_text(LIBRARY, encoding="utf-8")
    assert main(["generate", "--library", str(file), "--torch", "auto", "--out", str(out)]) == 0
    assert "Meta" not in (out / "src/dyn/register_0.cpp").read_text(encoding="utf-8")
    assert "from . import _fakes" in (out / "python/dyn/_ops.py").read_text(encoding="utf-8")
    library = torch.library.Library("dyn", "DEF")
    for line in LIBRARY.splitlines():
        if "func:" in line:
            library.define(line.partition("func: ")[2])
    library.impl("kept", lambda self, above: self[self[:, 0] > above], "CPU")
    library.impl("places", lambda self: self.nonzero().contiguous(), "CPU")
    library.impl("few", lambda self, limit: (self.flatten()[:limit].clone(), self + 1), "CPU")
    exec((out / "python/dyn/_fakes.py").read_text(encoding="utf-8"), {})
    yield torch.ops.dyn
    library._destroy()


def same(torch: ModuleType, ours: object, theirs: object) -> None:
    """Checks that two results are equal, sizes and dtypes included."""
    torch.testing.assert_close(ours, theirs, rtol=0, atol=0)


@pytest.mark.parametrize("dynamic", [False, True])
def test_compiled_programs_know_the_range(torch: ModuleType, operators: ModuleType, dynamic: bool) -> None:
    """A program that compares the size with its limit compiles whole, and gives the results of the plain program."""

    def program(x: Tensor) -> Tensor:
        rows = operators.kept(x, 0.0)
        return rows * 2 if rows.size(0) <= x.size(0) else rows

    compiled = torch.compile(program, fullgraph=True, dynamic=dynamic, backend="aot_eager")
    for rows in (3, 5):
        for x in (torch.randn(rows, 4), -torch.ones(rows, 4)):
            same(torch, compiled(x), program(x))


def test_limits_may_be_arguments(torch: ModuleType, operators: ModuleType) -> None:
    """Limits are numbers, arguments and sizes; results of other sizes are as declared."""

    def program(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        first, more = operators.few(x, 3)
        assert 1 <= first.size(0) <= 3
        return first, more, operators.places(x)

    x = torch.tensor([[1.0, 0.0], [2.0, 3.0]])
    same(torch, torch.compile(program, fullgraph=True, backend="aot_eager")(x), program(x))


def test_pytorch_accepts_the_operators(torch: ModuleType, operators: ModuleType) -> None:
    """The operators pass PyTorch's tests, and programs with them are exported."""
    x = torch.randn(4, 2)
    for operator, arguments in ((operators.kept, (x, 0.0)), (operators.places, (x,)), (operators.few, (x, 3))):
        results = torch.library.opcheck(operator.default, arguments)
        assert set(results.values()) == {"SUCCESS"}, operator

    class Program(torch.nn.Module):  # type: ignore[name-defined, misc]
        def forward(self, x: Tensor) -> Tensor:
            rows: Tensor = operators.kept(x, 0.0)
            return rows.sum()

    same(torch, torch.export.export(Program(), (x,)).module()(x), Program()(x))


def test_limits_are_no_negative_numbers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """PyTorch has no sizes below 0."""
    file = tmp_path / "acme.yaml"
    entry = '- func: f(Tensor x) -> Tensor\n  dispatch: {CPU: f}\n  outputs: "[dynamic(min=-1)]"\n'
    file.write_text(f"namespace: acme\noperators:\n{entry}", encoding="utf-8")
    assert main(["check", "--torch", "auto", "--library", str(file)]) == 1
    assert "`dynamic(min=-1)` has a limit below 0" in capsys.readouterr().out


@pytest.mark.parametrize(
    "more",
    [
        "- func: f.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)\n  dispatch: {CPU: f_out}\n",
        "- func: f_(Tensor! r, Tensor x) -> ()\n  dispatch: {CPU: g}\n",
    ],
)
def test_nobody_makes_outs_of_unknown_sizes(tmp_path: Path, capsys: pytest.CaptureFixture[str], more: str) -> None:
    """An out overload cannot have such a size."""
    file = tmp_path / "acme.yaml"
    entry = '- func: f(Tensor x) -> Tensor\n  dispatch: {CPU: f}\n  outputs: "[dynamic()]"\n'
    file.write_text(f"namespace: acme\noperators:\n{entry}{more}", encoding="utf-8")
    assert main(["check", "--torch", "auto", "--library", str(file)]) == (1 if "out" in more else 0)
    assert ("error[E1158]" in capsys.readouterr().out) is ("out" in more)
