"""Libraries of drawn operators, compiled and loaded with either C++ interface."""

from __future__ import annotations

import contextlib
import importlib
import io
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import opwright
from opwright.cli.main import main as run_opwright
from tests.compile.compiler import Compiler
from tests.second_gradients.drawing import DrawnOperator

if TYPE_CHECKING:
    from typing import Any, TypeAlias

    #: A namespace of `torch.ops`.
    Value: TypeAlias = Any

__all__ = ["built"]

_INCLUDE: Final = Path(opwright.__file__).parent / "libraries" / "include"
_PARTS: Final = {
    "native": """\
#include <ATen/ops/empty_like.h>
using at::Tensor;
static Tensor empty_of(const Tensor& like) { return at::empty_like(like); }
""",
    "stable": """\
#include <torch/csrc/stable/ops.h>
using torch::stable::Tensor;
static Tensor empty_of(const Tensor& like) { return torch::stable::empty_like(like); }
""",
}
_NUMBERS: Final = "static double* numbers(const Tensor& x) { return static_cast<double*>(x.data_ptr()); }\n"


def built(operators: Sequence[DrawnOperator], abi: str, name: str, folder: Path, program: str) -> Value:
    """The operators of a library with a name, compiled and loaded, with what its package registers."""
    import torch

    folder.mkdir(parents=True)
    head = f"namespace: {name}\nabi: {abi}\ntorch: '>=2.13'\nderivatives: derivatives.yaml\noperators:\n"
    (folder / "drawn.yaml").write_text(head + "".join([operator.entry() for operator in operators]))
    (folder / "derivatives.yaml").write_text("".join([operator.derivatives() for operator in operators]))
    out, printed = folder / "out", io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        arguments = ["--library", str(folder / "drawn.yaml"), "--torch", "auto", "--out", str(out)]
        status = run_opwright(["generate", *arguments])
    assert status == 0, printed.getvalue()
    kernels = "".join([operator.kernel() for operator in operators])
    sources = "".join([f'#include "{source}"\n' for source in sorted((out / "src" / name).glob("*.cpp"))])
    source = folder / "all.cpp"
    body = f"namespace {name} {{\nnamespace native {{\n{kernels}}}\n}}\n"
    source.write_text(f"{sources}#include <cmath>\n{_PARTS[abi]}{_NUMBERS}{body}")
    compiler = Compiler(program, folder / "build", [out / "include", _INCLUDE])
    compiler.folder.mkdir()
    torch.ops.load_library(compiler.library(name, [source]))
    sys.path.insert(0, str(out / "python"))
    importlib.import_module(f"{name}._ops")
    return getattr(torch.ops, name)
