"""Libraries built from original and from ported kernels, and the calls whose results are compared."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

import opwright
from opwright.cli.main import main as run_opwright
from tests.compile.compiler import Compiler, compiler_program

if TYPE_CHECKING:
    from types import ModuleType

    from torch import Tensor

__all__ = ["CASES", "Cases", "different_results"]

INCLUDE: Final = Path(opwright.__file__).parent / "libraries" / "include"

#: What the original kernels need of `torch/torch.h`.
PREFIX: Final = (
    "torch/types.h",
    "torch/csrc/autograd/generated/variable_factories.h",
    "cassert",
    "cmath",
    "map",
    "unordered_set",
)


class Calls(Protocol):
    """A function that calls operators of a library, and gives their results."""

    def __call__(self, operators: ModuleType, case: str) -> Iterator[Tensor | None]:
        """The results of one case."""


class Cases(NamedTuple):
    """The operators of a library by schema with their kernels, the headers, and names of functions that make calls."""

    operators: Mapping[str, str]
    headers: tuple[str, ...]
    calls: tuple[str, ...]


_SCATTER: Final = "Tensor src, Tensor index, int dim, Tensor? out, int? dim_size, str reduce"
_SEGMENT: Final = "Tensor src, Tensor index, Tensor? out, int? dim_size, str reduce"
_REDUCTIONS: Final = ("sum", "mean", "mul", "div", "min", "max")
_DTYPES: Final = ("float32", "float64", "float16", "bfloat16", "int64", "int32", "uint8")

CASES: Final[Mapping[str, Cases]] = {
    "torch-scatter": Cases(
        {
            f"scatter({_SCATTER}) -> (Tensor, Tensor?)": "scatter_cpu",
            f"segment_coo({_SEGMENT}) -> (Tensor, Tensor?)": "segment_coo_cpu",
            "gather_coo(Tensor src, Tensor index, Tensor? out) -> Tensor": "gather_coo_cpu",
            "segment_csr(Tensor src, Tensor indptr, Tensor? out, str reduce) -> (Tensor, Tensor?)": "segment_csr_cpu",
            "gather_csr(Tensor src, Tensor indptr, Tensor? out) -> Tensor": "gather_csr_cpu",
        },
        ("cpu/scatter_cpu.h", "cpu/segment_coo_cpu.h", "cpu/segment_csr_cpu.h"),
        tuple([f"{dtype}/{reduction}" for dtype in _DTYPES for reduction in _REDUCTIONS]),
    ),
    "torch-cluster": Cases(
        {
            "fps(Tensor src, Tensor ptr, Tensor ratio, bool random_start) -> Tensor": "fps_cpu",
            "graclus(Tensor rowptr, Tensor col, Tensor? weight) -> Tensor": "graclus_cpu",
            "grid(Tensor pos, Tensor size, Tensor? start, Tensor? end) -> Tensor": "grid_cpu",
            "random_walk(Tensor rowptr, Tensor col, Tensor start, int length, float p, float q) -> (Tensor, Tensor)": (
                "random_walk_cpu"
            ),
            "sampler(Tensor start, Tensor rowptr, int count, float factor) -> Tensor": "neighbor_sampler_cpu",
            "knn(Tensor x, Tensor y, Tensor? ptr_x, Tensor? ptr_y, int k, int workers) -> Tensor": "knn_cpu",
            "radius(Tensor x, Tensor y, Tensor? ptr_x, Tensor? ptr_y, float r, int most, int workers) -> Tensor": (
                "radius_cpu"
            ),
        },
        tuple([f"cpu/{name}_cpu.h" for name in ("fps", "graclus", "grid", "rw", "sampler", "knn", "radius")]),
        tuple([f"seed {seed}" for seed in range(5)]),
    ),
}


def different_results(library: str, original: Path, ported: Path) -> list[str]:
    """What differs between the results of the original kernels and those of the ported ones."""
    import torch

    name = library.replace("-", "_")
    cases = CASES[library]
    for namespace, sources, abi in ((f"{name}_before", original, ""), (f"{name}_after", ported, "abi: stable\n")):
        torch.ops.load_library(_built(namespace, cases, sources, abi, ported.parent))
    calls = _scatter_calls if library == "torch-scatter" else _cluster_calls
    before, after = getattr(torch.ops, f"{name}_before"), getattr(torch.ops, f"{name}_after")
    return [f"{case}: {text}" for case in cases.calls for text in _differences(calls, case, before, after)]


def _built(namespace: str, cases: Cases, sources: Path, abi: str, folder: Path) -> Path:
    """The shared object of a library with these kernels."""
    out = folder / namespace
    out.mkdir()
    entries = [f"- func: {schema}\n  dispatch: {{CPU: {kernel}}}\n" for schema, kernel in cases.operators.items()]
    head = f'namespace: {namespace}\n{abi}kernel_namespace: "::"\nkernel_signatures: declared\n'
    file = out / "library.yaml"
    file.write_text(f"{head}includes: [{', '.join(cases.headers)}]\noperators:\n{''.join(entries)}")
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        assert run_opwright(["generate", "--library", str(file), "--out", str(out)]) == 0
    program = compiler_program()
    assert program is not None, "there is no C++ compiler"
    prefix = None
    if not abi:
        # The whole C++ API of PyTorch takes longer than the kernels, which need the part with tensors and operators.
        prefix = out / "include" / "torch" / "torch.h"
        prefix.parent.mkdir()
        prefix.write_text("".join([f"#include <{header}>\n" for header in PREFIX]))
    compiler = Compiler(program, out, [sources, out / "include", INCLUDE], False, prefix)
    files = [*sorted((sources / "cpu").glob("*.cpp")), *sorted((out / "src" / namespace).glob("*.cpp"))]
    return compiler.library("library", files)


def _differences(calls: Calls, case: str, before: ModuleType, after: ModuleType) -> Iterator[str]:
    import torch

    expected, found = list(calls(before, case)), list(calls(after, case))
    for number, (own, other) in enumerate(zip(expected, found, strict=True)):
        if (own is None) != (other is None):
            yield f"result {number} is there once"
        elif own is not None and other is not None and not (own.dtype == other.dtype and torch.equal(own, other)):
            yield f"result {number} is {other}, not {own}"


def _scatter_calls(operators: ModuleType, case: str) -> Iterator[Tensor | None]:
    """Calls with one dtype and one reduction."""
    import torch

    dtype, _, reduction = case.partition("/")
    torch.manual_seed(0)
    source = (torch.rand(4, 6, 3) * 8 + 1).to(getattr(torch, dtype))
    index = torch.randint(0, 5, (4, 6, 3))
    first = torch.tensor([0, 0, 1, 3])
    bounds = torch.tensor([0, 2, 2, 4])
    for size in (None, 7):
        yield from operators.scatter(source, index, 1, None, size, reduction)
        yield from operators.segment_coo(source, first, None, size, reduction)
    given = torch.ones(4, 5, 3).to(source.dtype)
    yield from operators.scatter(source, index, 1, given, None, reduction)
    yield from operators.segment_csr(source, bounds, None, reduction)
    yield operators.gather_coo(source, first, None)
    yield operators.gather_csr(source[:3].contiguous(), bounds, None)
    yield from operators.scatter(source[:0], index[:0], 0, None, 3, reduction)


def _cluster_calls(operators: ModuleType, case: str) -> Iterator[Tensor | None]:
    """Calls with one seed."""
    import torch

    torch.manual_seed(int(case.split()[1]))
    points, others = torch.rand(40, 3), torch.rand(12, 3)
    bounds, ratio = torch.tensor([0, 15, 40]), torch.tensor([0.5, 0.4])
    yield operators.fps(points, bounds, ratio, False)
    rows = torch.arange(0, 81, 2)
    columns = torch.randint(0, 40, (80,))
    for weight in (None, torch.rand(80), torch.rand(80).half()):
        torch.manual_seed(1)
        yield operators.graclus(rows, columns, weight)
    size = torch.tensor([0.25, 0.5, 0.5])
    yield operators.grid(points, size, None, None)
    yield operators.grid(points, size, torch.zeros(3), torch.ones(3))
    torch.manual_seed(2)
    yield from operators.random_walk(rows, columns, torch.arange(40), 6, 1.0, 1.0)
    yield operators.sampler(torch.arange(40), rows, 2, 1.0)
    for ends in ((None, None), (bounds, torch.tensor([0, 5, 12]))):
        yield operators.knn(points, others, *ends, 3, 1)
        yield operators.radius(points, others, *ends, 0.4, 8, 1)
