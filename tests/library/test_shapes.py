"""Shapes of results: kernels for Meta from declared outputs, shape functions, and operators that have neither."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import pytest

from opwright.cli.main import main
from tests.library.conftest import GenerateLibrary

if TYPE_CHECKING:
    from torch import Tensor

WITHOUT_SHAPES = """
namespace: acme
operators:
  - func: scale(Tensor self) -> Tensor
    dispatch: {CPU: scale_cpu}
  - func: scale.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
    dispatch: {CPU: scale_out_cpu}
  - func: scale_(Tensor(a!) self) -> Tensor(a!)
    dispatch: {CPU: scale_inplace_cpu}
  - func: declared(Tensor self) -> Tensor
    outputs: like(self)
    dispatch: {CPU: declared_cpu}
  - func: write(Tensor self, Tensor(a!) other) -> ()
    dispatch: {CPU: write_cpu}
  - func: composite(Tensor self) -> Tensor
  - func: version() -> int
    dispatch: {CompositeExplicitAutograd: version}
"""

STRUCTURED = """
namespace: acme
operators:
  - func: join(Tensor self, Tensor other) -> Tensor
    outputs: "[self.size(0) + other.size(0)]"
    structured_delegate: join.out
  - func: join.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)
    structured: True
    dispatch: {CPU: join_out}
  - func: mix(Tensor self, Tensor other) -> Tensor
    outputs: broadcast(self, other)
    structured_delegate: mix.out
  - func: mix.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)
    structured: True
    structured_inherits: TensorIteratorBase
    dispatch: {CPU: mix_out}
"""


@pytest.fixture
def matrix(torch: ModuleType) -> Tensor:
    """Two rows of three numbers."""
    return torch.arange(6.0).reshape(2, 3)


def test_operators_without_shapes_are_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A warning names each overload at which tracing would fail, and says what to write."""
    file = tmp_path / "library.yaml"
    file.write_text(WITHOUT_SHAPES, encoding="utf-8")
    assert main(["generate", "--library", str(file), "--torch", "auto", "--out", str(tmp_path / "out")]) == 0
    lines = [line for line in capsys.readouterr().err.splitlines() if "W1119" in line]
    assert [line.partition("`")[2].partition("`")[0] for line in lines] == ["scale", "scale.out"]


def test_a_shape_function_follows_from_declared_outputs(generate_library: GenerateLibrary) -> None:
    """It does unless a parent class computes sizes itself; the kernels for Meta follow from the outputs in any case."""
    source = (generate_library(STRUCTURED) / "src" / "acme" / "register_0.cpp").read_text()
    assert "void structured_join::meta(const at::Tensor & self, const at::Tensor & other) {" in source
    assert "structured_mix::meta" not in source
    for name in ("join", "join.out", "mix", "mix.out"):
        assert f'm.impl("{name}", &acme::declared::{name.replace(".", "_")});' in source
    assert "wrapper_Meta" not in source


@pytest.mark.thorough
def test_meta_tensors_have_the_declared_shapes(acme: ModuleType, torch: ModuleType, matrix: Tensor) -> None:
    """Results have the declared sizes and dtypes, and out overloads check and resize what they write."""
    meta = matrix.to("meta")
    assert acme.rotate(meta, 2).shape == acme.rotate(matrix, 2).shape == (3, 4)
    out = torch.empty(0, device="meta")
    assert acme.rotate(meta, 2, out=out) is out
    assert out.shape == (3, 4)
    with pytest.raises(RuntimeError, match=r"have dtype torch.float32, but got torch.int32 instead"):
        acme.rotate(meta, out=torch.empty(0, device="meta", dtype=torch.int32))
    sums, count = acme.measure(meta, meta.clone(), [1], True)
    assert (sums.shape, sums.dtype, count.shape, count.dtype) == ((2, 1), torch.float32, (), torch.int64)
    assert acme.grid(2, 3, device="meta", dtype=torch.int64).shape == (2, 3)
    assert acme.fill_with_(meta, 1) is meta
    assert acme.mix(meta, meta.double()).dtype == torch.float64


@pytest.mark.thorough
def test_structured_kernels_with_declared_outputs(acme: ModuleType, torch: ModuleType, matrix: Tensor) -> None:
    """The generated shape function serves all devices; with symbols, the kernel for Meta does."""
    first, second = torch.arange(2.0), torch.arange(3.0)
    assert acme.join(first, second).tolist() == [0.0, 1.0, 0.0, 1.0, 2.0]
    out = torch.empty(1)
    assert acme.join(first, second, out=out) is out
    assert out.tolist() == [0.0, 1.0, 0.0, 1.0, 2.0]
    assert acme.join(first.to("meta"), second.to("meta")).shape == (5,)


@pytest.mark.thorough
def test_tracing_with_symbols(acme: ModuleType, torch: ModuleType, matrix: Tensor) -> None:
    """Compiled functions and exported programs with declared outputs serve all sizes."""

    class Chain(torch.nn.Module):  # type: ignore[misc, name-defined]
        def forward(self, tensor: Tensor) -> Tensor:
            turned = acme.rotate(acme.fill_with(tensor, 2), tensor.shape[0])
            return acme.join(turned[0], acme.mix(tensor, turned[0, 0])[0])

    compiled = torch.compile(Chain(), backend="aot_eager", fullgraph=True, dynamic=True)
    sizes = torch.export.Dim("rows"), torch.export.Dim("columns")
    exported = torch.export.export(Chain(), (matrix,), dynamic_shapes=(dict(enumerate(sizes)),)).module()
    for tensor in (matrix, torch.ones(4, 5)):
        expected = Chain()(tensor)
        assert torch.equal(compiled(tensor), expected)
        assert torch.equal(exported(tensor), expected)


@pytest.mark.thorough
def test_declared_outputs_pass_the_checks_of_pytorch(acme: ModuleType, torch: ModuleType, matrix: Tensor) -> None:
    """`torch.library.opcheck` finds the declared shapes in order, with numbers and with symbols."""
    check = torch.library.opcheck
    check(acme.rotate.default, (matrix, 2))
    check(acme.fill_with.default, (matrix, 2))
    check(acme.measure.default, (matrix, matrix.clone(), [0]))
    check(acme.join.default, tuple(matrix))
    check(acme.mix.default, (matrix, matrix))
