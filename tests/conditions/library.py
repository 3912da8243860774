"""Libraries of drawn operators: their files, what is generated for them, and binaries with kernels that do nothing."""

from __future__ import annotations

import contextlib
import importlib
import io
import random
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Final

import opwright
from opwright.cli.main import main as run_opwright
from tests.compile.compiler import Compiler
from tests.conditions.drawing import DrawnOperator, drawn_operator

if TYPE_CHECKING:
    from typing import Any, TypeAlias

    #: A namespace of `torch.ops`.
    Value: TypeAlias = Any

__all__ = ["built", "generated", "operators_that_load", "python_alone"]

_INCLUDE: Final = Path(opwright.__file__).parent / "libraries" / "include"
_FAULT: Final = re.compile(r"^\S*?:(\d+):\d+: error", re.MULTILINE)
_KERNEL: Final = re.compile(r"^(?:[A-Z_]+_API )?([\w:]+Tensor (f\d+)\([^;]*\));$", re.MULTILINE)


def _file(operators: Sequence[DrawnOperator], kind: str, path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    head = f"namespace: conditions_{kind}\n" + ("" if kind == "native" else "abi: stable\ntorch: '>=2.13'\n")
    path.write_text(head + "operators:\n" + "".join([operator.entry() for operator in operators]), encoding="utf-8")
    return path


def _run(*arguments: str) -> tuple[int, str]:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        status = run_opwright([*arguments])
    return status, printed.getvalue()


def operators_that_load(count: int, seed: int, folder: Path) -> list[DrawnOperator]:
    """Drawn operators without those that `opwright check` refuses, for instance for a division by a literal 0."""
    chance = random.Random(seed)
    drawn = [drawn_operator(number, chance) for number in range(count)]
    path = _file(drawn, "native", folder / "drawn.yaml")
    _, printed = _run("check", "--format", "short", str(path))
    starts = [number for number, line in enumerate(path.read_text().splitlines(), 1) if line.startswith("- func")]
    refused = {max(start for start in starts if start <= int(line)) for line in _FAULT.findall(printed)}
    return [operator for start, operator in zip(starts, drawn, strict=True) if start not in refused]


def generated(operators: Sequence[DrawnOperator], kind: str, folder: Path) -> Path:
    """The folder with the generated code of operators: `native`, or with another word of the stable interface."""
    path, out = _file(operators, kind, folder / f"{kind}.yaml"), folder / kind
    status, printed = _run("generate", "--library", str(path), "--torch", "auto", "--out", str(out))
    assert status == 0, printed
    return out


def _imported(out: Path, abi: str) -> None:
    sys.path.insert(0, str(out / "python"))
    importlib.import_module(f"conditions_{abi}._ops")


def built(operators: Sequence[DrawnOperator], abi: str, folder: Path, program: str) -> Value:
    """The operators of a library with a C++ interface, compiled and loaded, with what its package registers."""
    import torch

    out, name = generated(operators, abi, folder), f"conditions_{abi}"
    header = (out / f"include/{name}/kernels.h").read_text()
    clone = "torch::stable::clone(x)" if abi == "stable" else "x.clone()"
    kernels = [f"{signature} {{ return {clone}; }}" for signature, _ in _KERNEL.findall(header)]
    assert len(kernels) == len(operators)
    sources = [f'#include "{source}"' for source in sorted((out / "src" / name).glob("*.cpp"))]
    # The generated sources include their header before those of PyTorch.
    sources.append(f"#include <{'torch/csrc/stable/ops.h' if abi == 'stable' else 'ATen/ops/empty_like.h'}>")
    text = "\n".join([*sources, f"namespace {name} {{", "namespace native {", *kernels, "}", "}"])
    source = folder / f"{name}.cpp"
    source.write_text(f"{text}\n")
    compiler = Compiler(program, folder / f"build_{abi}", [out / "include", _INCLUDE])
    compiler.folder.mkdir()
    torch.ops.load_library(compiler.library(name, [source]))
    _imported(out, abi)
    return getattr(torch.ops, name)


def python_alone(operators: Sequence[DrawnOperator], folder: Path) -> Value:
    """The operators of a stable library without its binary: what traces check is Python's alone."""
    import torch

    out = generated(operators, "traced", folder)
    library = torch.library.Library("conditions_traced", "DEF")
    for operator in operators:
        arguments = ", ".join([f"{type} {name}" for name, type in operator.types.items()])
        library.define(f"{operator.name}({arguments}) -> Tensor")
    sys.path.insert(0, str(out / "python"))
    package = ModuleType("conditions_traced")
    package.__path__ = [str(out / "python" / "conditions_traced")]
    sys.modules["conditions_traced"] = package
    importlib.import_module("conditions_traced._fakes")
    package.__dict__["library"] = library
    return torch.ops.conditions_traced
