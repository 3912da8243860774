"""Operators with a policy under autocast: kernels receive the dtypes that the policy says."""

from __future__ import annotations

import runpy
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import pytest

from tests.compile.compiler import Compiler
from tests.library.conftest import INCLUDE, generated_code

if TYPE_CHECKING:
    from torch import Tensor

pytestmark = pytest.mark.thorough

CAST = Path(__file__).parent / "cast"
MIXED = "mixed(Tensor self, Tensor? other, Tensor[] list, Tensor boxes) -> (Tensor, Tensor)"
#: The numbers of dtypes in C++.
CODES = {"bool": 11, "float16": 5, "float32": 6, "float64": 7, "int64": 4, "bfloat16": 15}


@pytest.fixture(scope="session")
def generated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The generated code of the library."""
    return generated_code(CAST / "cast.yaml", tmp_path_factory)


@pytest.fixture(scope="session")
def cast(program: str, torch: ModuleType, generated: Path, tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    """`torch.ops.cast`, compiled and loaded."""
    compiler = Compiler(program, tmp_path_factory.mktemp("cast_build"), [generated / "include", INCLUDE])
    sources = [*sorted((generated / "src" / "cast").glob("*.cpp")), CAST / "kernels.cpp"]
    torch.ops.load_library(compiler.library("cast", sources))
    operators: ModuleType = torch.ops.cast
    return operators


def check_cast_back(function: Callable[..., tuple[Tensor, Tensor, list[Tensor]]], torch: ModuleType) -> None:
    """Call an operator with the policy with several dtypes, and compare the results with those of a cast by hand."""
    for first, second in (("bfloat16", "float32"), ("float16", "int64"), ("float32", "bfloat16")):
        tensor, boxes = torch.rand(2).to(getattr(torch, first)), (torch.rand(2) * 9).to(getattr(torch, second))
        inner = boxes if second == "int64" else boxes.float()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            total, codes, tensors = function(tensor, boxes)
        assert codes.tolist() == [CODES["float32"], CODES["int64" if second == "int64" else "float32"]]
        assert torch.equal(total, (tensor.float() + inner).to(tensor.dtype))
        assert [item.dtype for item in (total, *tensors)] == [
            tensor.dtype, tensor.dtype, boxes.dtype if second == "int64" else tensor.dtype
        ]  # fmt: skip
    double = torch.rand(2, dtype=torch.float64)
    with torch.autocast("cpu"):
        total, codes, _ = function(double, double.float())
    assert total.dtype == torch.float64
    assert codes.tolist() == [CODES["float64"], CODES["float32"]]


@pytest.mark.parametrize(
    ("operator", "dtypes", "expected"),
    [
        ("lower", ("float32", "float32", "float32"), ("bfloat16", "bfloat16", "bfloat16")),
        ("lower", ("float64", None, "int64"), ("float64", "bool", "int64")),
        ("full", ("bfloat16", "float16", "float32"), ("float32", "float32", "float32")),
        ("widest", ("bfloat16", "bfloat16", "float32"), ("float32", "float32", "float32")),
        ("widest", ("bfloat16", None, "bfloat16"), ("bfloat16", "bool", "bfloat16")),
    ],
)
def test_tensors_are_cast(
    cast: ModuleType,
    torch: ModuleType,
    operator: str,
    dtypes: tuple[str | None, ...],
    expected: tuple[str, ...],
) -> None:
    """Tensors, optional ones and those in lists get the dtype of the policy; float64 and integers stay."""
    first, second, third = [None if dtype is None else torch.ones(2, dtype=getattr(torch, dtype)) for dtype in dtypes]
    function = getattr(cast, operator)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert function(first, second, [third]).tolist() == [CODES[dtype] for dtype in expected]
    given = [CODES["bool" if dtype is None else dtype] for dtype in dtypes]
    assert function(first, second, [third]).tolist() == given


def test_dtypes_of_results_are_set(cast: ModuleType, torch: ModuleType) -> None:
    """The dtype of the result becomes float32 unless the caller chooses it, or the tensor is not cast."""
    tensor, double = torch.ones(2, dtype=torch.bfloat16), torch.ones(2, dtype=torch.float64)
    with torch.autocast("cpu"):
        assert cast.chosen(tensor).tolist() == [CODES["float32"]]
        assert cast.chosen(tensor, dtype=torch.float64).tolist() == [CODES["float64"]]
        assert cast.chosen(double).tolist() == [CODES["bool"]]
        assert cast.appended(tensor, 3).tolist() == [CODES["float32"]]
        assert cast.appended(double, 3).tolist() == [CODES["float64"]]
    assert cast.appended(tensor, 3).tolist() == [CODES["bool"]]


def test_results_are_cast_back(cast: ModuleType, torch: ModuleType) -> None:
    """`fp32_cast_back` computes in float32, and gives results with real numbers the dtype of the first tensor."""
    check_cast_back(cast.aligned, torch)


def check_mixed(function: Callable[..., tuple[Tensor, Tensor]], torch: ModuleType) -> None:
    """Call an operator whose arguments have a policy each."""
    tensor, half = torch.rand(2), torch.rand(2).half()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        result, codes = function(tensor, half, [half, half], half)
        assert codes.tolist() == [CODES[name] for name in ("bfloat16", "float16", "float32", "float32")]
        assert torch.equal(result, (half.float() + 1).half())
        result, codes = function(half, None, [tensor.double()], tensor.double())
    assert codes.tolist() == [CODES[name] for name in ("bfloat16", "bool", "float64", "float64")]
    assert result.dtype == torch.float64


def test_arguments_have_their_policies(cast: ModuleType, torch: ModuleType) -> None:
    """An argument is cast as its own policy says, one without a policy stays, and results get the dtype of one."""
    check_mixed(cast.mixed, torch)


def test_composite_operators_are_cast(cast: ModuleType, torch: ModuleType) -> None:
    """A policy of a composite operator holds on the CPU too."""
    with torch.autocast("cpu"):
        assert cast.composite(torch.ones(2)).tolist() == [CODES["bfloat16"]]


def test_each_device_has_its_policy(generated: Path) -> None:
    """A policy without devices holds on the devices of the kernels, or on CPU and CUDA for composite operators."""
    text = (generated / "src" / "cast" / "register_0.cpp").read_text(encoding="utf-8")
    cuda = text.partition("TORCH_LIBRARY_IMPL(cast, AutocastCUDA, m) {")[2].partition("}")[0]
    assert [line.partition('"')[2].partition('"')[0] for line in cuda.strip().splitlines()] == ["full", "composite"]
    assert "Policy::promote, c10::DeviceType::CUDA, c10::DispatchKey::AutocastCUDA" in cuda


def test_stable_libraries_cast_alike(torch: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> None:
    """A stable library has policies in Python, those of arguments and those that cast results too."""
    file = tmp_path_factory.mktemp("stable") / "cast_stable.yaml"
    file.write_text(
        "namespace: cast_stable\nabi: stable\noperators:\n"
        "- func: aligned(Tensor self, Tensor boxes) -> (Tensor, Tensor, Tensor[])\n"
        "  dispatch: {CPU: aligned}\n  autocast: fp32_cast_back\n"
        f"- func: {MIXED}\n  dispatch: {{CPU: mixed}}\n"
        "  autocast: {self: lower_precision_fp, list: fp32, boxes: fp32_cast_back}\n",
        encoding="utf-8",
    )
    module = generated_code(file, tmp_path_factory) / "python" / "cast_stable" / "_autocast.py"
    library = torch.library.Library("cast_stable", "DEF")
    library.define("aligned(Tensor self, Tensor boxes) -> (Tensor, Tensor, Tensor[])")

    def aligned(self: Tensor, boxes: Tensor) -> tuple[Tensor, Tensor, list[Tensor]]:
        names = [str(tensor.dtype).removeprefix("torch.") for tensor in (self, boxes)]
        return self + boxes, torch.tensor([CODES[name] for name in names]), [self.clone(), boxes.clone()]

    def mixed(self: Tensor, other: Tensor | None, list: list[Tensor], boxes: Tensor) -> tuple[Tensor, Tensor]:
        dtypes = [torch.bool if tensor is None else tensor.dtype for tensor in (self, other, list[0], boxes)]
        return boxes + 1, torch.tensor([CODES[str(dtype).removeprefix("torch.")] for dtype in dtypes])

    library.impl("aligned", aligned, "CPU")
    library.define(MIXED)
    library.impl("mixed", mixed, "CPU")
    runpy.run_path(str(module))
    check_cast_back(torch.ops.cast_stable.aligned, torch)
    check_mixed(torch.ops.cast_stable.mixed, torch)
