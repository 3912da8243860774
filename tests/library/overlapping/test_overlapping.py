"""Operators that write: calls in which written tensors share memory with others, alone and in compiled programs."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, TypeAlias

import pytest

from tests.compile.compiler import Compiler
from tests.library.conftest import INCLUDE, generated_code
from tests.library.overlapping.programs import SIZE
from tests.library.overlapping.programs import program as drawn_program

if TYPE_CHECKING:
    from torch import Tensor

    Inputs: TypeAlias = "tuple[Tensor, Tensor]"

OWN = Path(__file__).parent


@pytest.fixture(scope="module", params=["native", "stable"])
def operators(
    request: pytest.FixtureRequest, program: str, torch: ModuleType, tmp_path_factory: pytest.TempPathFactory
) -> ModuleType:
    """The operators, with each C++ interface, and what their Python package registers."""
    abi = str(request.param)
    name = "overlapping" if abi == "native" else "overlapping_stable"
    folder = tmp_path_factory.mktemp(name)
    for file in ("operators.yaml", "kernels.cpp"):
        text = (OWN / file).read_text().replace("namespace: overlapping", f"namespace: {name}\nabi: {abi}")
        text = text.replace("namespace overlapping", f"namespace {name}").replace("<overlapping/", f"<{name}/")
        (folder / file).write_text(text if abi == "native" else text.replace("// The", "#define STABLE\n// The", 1))
    generated = generated_code(folder / "operators.yaml", tmp_path_factory)
    compiler = Compiler(program, tmp_path_factory.mktemp(f"{name}_build"), [generated / "include", INCLUDE])
    sources = sorted((generated / "src" / name).glob("*.cpp"))
    torch.ops.load_library(compiler.library(name, [*sources, folder / "kernels.cpp"]))
    sys.path.insert(0, str(generated / "python"))
    importlib.import_module(f"{name}._ops")
    operators: ModuleType = getattr(torch.ops, name)
    return operators


def inputs(torch: ModuleType, seed: int) -> Inputs:
    """Two tensors, every fourth time with memory in common."""
    memory = torch.arange(2.0 * SIZE) + 1
    apart = 8 if seed % 4 == 3 else SIZE
    return memory[:SIZE], memory[apart : apart + SIZE]


def outcome(torch: ModuleType, run: Callable[[Tensor, Tensor], Tensor], seed: int) -> list[list[float]] | str:
    """What a program returns and leaves in its inputs; a text if it raises."""
    x, y = inputs(torch, seed)
    try:
        result = run(x, y)
    except Exception as error:
        return f"raises: {error}"
    return [result.tolist(), x.tolist(), y.tolist()]


def differences(torch: ModuleType, operators: ModuleType, seeds: range, backend: str) -> tuple[list[str], int, int]:
    """The programs that do something else when they are compiled; how many ran, and how many raised in both ways."""
    different, ran, raised = [], 0, 0
    for seed in seeds:
        torch._dynamo.reset()
        run = drawn_program(seed, operators)
        eager = outcome(torch, run, seed)
        compiled = outcome(torch, torch.compile(run, backend=backend, fullgraph=True, dynamic=False), seed)
        if isinstance(eager, str) and isinstance(compiled, str):
            raised += 1
        elif eager == compiled:
            ran += 1
        else:
            different.append(f"program {seed}:\n  eager {eager}\n  {backend} {compiled}")
    return different, ran, raised


@pytest.mark.parametrize(
    ("backend", "seeds"),
    [
        ("aot_eager", range(12)),
        ("inductor", range(1000, 1003)),
        pytest.param("aot_eager", range(100, 600), marks=pytest.mark.thorough),
        pytest.param("inductor", range(1100, 1125), marks=pytest.mark.thorough),
    ],
)
def test_compiled_programs_do_what_eager_ones_do(
    torch: ModuleType, operators: ModuleType, backend: str, seeds: range
) -> None:
    """A program of views and writes has the same results when it is compiled, or raises in both ways."""
    different, ran, raised = differences(torch, operators, seeds, backend)
    assert not different, "\n".join(different)
    assert ran
    assert len(seeds) < 10 or raised
