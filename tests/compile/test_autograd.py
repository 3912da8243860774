"""Generated autograd code is C++ that PyTorch's headers accept."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.compile.compiler import Compiler
from tests.conformance.inputs import pytorch_files
from tests.conformance.mutate import DERIVATIVES, NATIVE, split_entries

pytestmark = pytest.mark.thorough

#: Overloads that between them save tensors, lists, sizes, numbers and results, have several gradients or forward
#: formulas of each kind, are views, write in place, and work over lists.
OVERLOADS = (
    "abs", "abs_", "abs.out", "acos", "acosh_", "add.Tensor", "addcdiv", "addmm", "addmm_", "as_strided", "cat",
    "clamp.Tensor", "cummax", "cumsum", "dropout", "eq.Tensor", "exp", "exp_", "index.Tensor", "linalg_eig", "max.dim",
    "mul.Tensor", "mul_.Tensor", "native_layer_norm", "permute", "pow.Tensor_Tensor", "prod", "resize_", "select.int",
    "set_.source_Tensor", "sort", "split_with_sizes", "stack", "sum.dim_IntList", "unbind.int", "values", "zero_",
    "_foreach_add.List", "_foreach_add_.List", "_foreach_exp", "_foreach_exp_", "_foreach_zero_",
)  # fmt: skip


def name_of(entry: str) -> str:
    """The overload that an entry of derivatives.yaml is for."""
    return entry.partition("name: ")[2].partition("(")[0].strip()


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of headers in which autograd's generated files are ours, made for a few overloads."""
    folder = tmp_path_factory.mktemp("autograd")
    for name, content in pytorch_files().items():
        if name.startswith(("autograd/", "ATen/native/")):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content)
    head, entries = split_entries(pytorch_files()[DERIVATIVES].decode())
    chosen = [entry for entry in entries if name_of(entry) in OVERLOADS]
    (folder / DERIVATIVES).write_text(head + "".join(chosen), encoding="utf-8")
    selection = folder / "selection.yaml"
    rows = [f"  aten::{name}: {{is_root_operator: true, is_used_for_training: true}}\n" for name in OVERLOADS]
    selection.write_text("operators:\n" + "".join(rows), encoding="utf-8")
    out = folder / "include" / "torch" / "csrc" / "autograd" / "generated"
    program = [sys.executable, "-m", "opwright.torchgen.gen_autograd"]
    paths = [folder / NATIVE, folder / "ATen/native/tags.yaml", out, folder / "autograd"]
    command = [*program, *map(str, paths), "--operators-yaml-path", str(selection)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder / "include"


@pytest.mark.parametrize("file", ["Functions.cpp", "VariableTypeEverything.cpp", "ViewFuncs.cpp"])
def test_generated_source_compiles(program: str, generated: Path, tmp_path: Path, file: str) -> None:
    """The stock headers and a C++ compiler find nothing wrong with nodes, kernels and classes of views."""
    source = generated / "torch" / "csrc" / "autograd" / "generated" / file
    assert source.read_text(encoding="utf-8").count("\n") > 100
    Compiler(program, tmp_path, [generated]).check_syntax(source)
