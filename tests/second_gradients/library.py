"""Libraries of drawn operators, compiled and loaded with either C++ interface."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tests.compile.library import build_library
from tests.second_gradients.drawing import DrawnOperator

if TYPE_CHECKING:
    from typing import Any, TypeAlias

    #: A namespace of `torch.ops`.
    Value: TypeAlias = Any

__all__ = ["built"]

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

    head = f"namespace: {name}\nabi: {abi}\ntorch: '>=2.13'\nderivatives: derivatives.yaml\noperators:\n"
    entries = head + "".join([operator.entry() for operator in operators])
    derivatives = "".join([operator.derivatives() for operator in operators])
    kernels = "".join([operator.kernel() for operator in operators])
    body = f"namespace {name} {{\nnamespace native {{\n{kernels}}}\n}}\n"
    text = f"#include <cmath>\n{_PARTS[abi]}{_NUMBERS}{body}"
    library = build_library(name, entries, derivatives, text, folder, program)
    torch.ops.load_library(library.binary)
    sys.path.insert(0, str(library.python))
    importlib.import_module(f"{name}._ops")
    return getattr(torch.ops, name)
