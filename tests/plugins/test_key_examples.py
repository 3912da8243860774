"""The examples of plug-ins that read keys and files of their own: what they generate compiles and runs."""

from __future__ import annotations

import ast
import json
import shutil
import subprocess
import sys
import unittest
from pathlib import Path
from types import ModuleType

import pytest

from opwright.backends.rows import BACKEND
from opwright.cli.main import main
from opwright.plugins.use import ensure_active
from opwright.tools.files.field_schemas import fields_at
from tests.compile.compiler import Compiler
from tests.compile.conftest import Generate, generate, program, torch

EXAMPLES = Path(__file__).parents[2] / "examples" / "plugins"
KERNELS = EXAMPLES / "yaml_kernels"
SKIPS = EXAMPLES / "test_skips"
SHIMS = EXAMPLES / "shim_list"

__all__ = ["generate", "program", "torch"]

#: What Python calls: the kernels as operators of a library, on tensors of the CPU.
_CALLS = """
#include <torch/library.h>
#include "PrivateUse1NativeFunctions.h"
#include "Kernels.cpp"

using Kernels = acme::PrivateUse1NativeFunctions;

TORCH_LIBRARY(yaml_kernels, m) {
  m.def("mul(Tensor self, Tensor other) -> Tensor", &Kernels::mul);
  m.def("mul_out(Tensor self, Tensor other, Tensor(a!) out) -> Tensor(a!)",
        [](const at::Tensor& self, const at::Tensor& other, at::Tensor& out) -> at::Tensor& {
          return Kernels::mul_out(self, other, out);
        });
  m.def("relu_(Tensor(a!) self) -> Tensor(a!)",
        [](at::Tensor& self) -> at::Tensor& { return Kernels::relu_(self); });
  m.def("aminmax(Tensor self, int? dim, bool keepdim) -> (Tensor, Tensor)", &Kernels::aminmax);
}
"""


def errors_of(*arguments: object) -> str:
    """What `opwright generate` prints on standard error where it fails."""
    command = [sys.executable, "-m", "opwright", "generate", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    return done.stderr


def kernel_arguments(backend: Path) -> tuple[object, ...]:
    """The arguments that make kernels from a backend file."""
    return (
        "--backend",
        backend,
        "--plugin",
        KERNELS / "yaml_kernels.py",
        "--only",
        "backend",
        "--only",
        "yaml_kernels",
    )


@pytest.mark.thorough
def test_kernels_compute(program: str, torch: ModuleType, generate: Generate, tmp_path: Path) -> None:
    """Kernels that an entry describes compile, allocate results, check and resize out arguments, and compute."""
    out = generate(*kernel_arguments(KERNELS / "backend.yaml"))
    source = tmp_path / "calls.cpp"
    source.write_text(_CALLS, encoding="utf-8")
    torch.ops.load_library(Compiler(program, tmp_path, [out, KERNELS]).library("yaml_kernels", [source]))
    ops = torch.ops.yaml_kernels
    left, right = torch.arange(6.0).reshape(2, 3), torch.tensor([1.0, 2.0, 3.0])
    assert torch.equal(ops.mul(left, right), left * right)
    result = torch.empty(0)
    assert ops.mul_out(left, right, result).data_ptr() == result.data_ptr()
    assert torch.equal(result, left * right)
    assert torch.equal(ops.relu_(torch.tensor([-1.0, 2.0])), torch.tensor([0.0, 2.0]))
    for keepdim in (False, True):
        least, most = ops.aminmax(left, 1, keepdim)
        assert torch.equal(least, left.amin(1, keepdim))
        assert torch.equal(most, left.amax(1, keepdim))


MISTAKES = {
    "exec: 'aclnnMul, self, othr', results: {out: {size: self, dtype: self}}": (
        "YAMLK0001",
        "`mul.Tensor` has no argument `othr`",
        "othr",
    ),
    "exec: aclnnMul, results: {out: {size: slef, dtype: self}}": (
        "YAMLK0001",
        "`mul.Tensor` has no argument `slef`",
        "slef",
    ),
    "exec: aclnnMul, results: {}": ("YAMLK0001", "`mul.Tensor` has 1 results", "aclnnMul"),
    "exec: aclnnMul, results: {out: {size: 'f(self', dtype: self}}": ("E2334", "`(` is not closed", "(self"),
    "exec: aclnnMul, results: {out: {size: self}}": ("E2333", "has no `dtype`", "{size"),
    "exec: aclnnMul, reslts: {}": ("E1335", "unknown option `reslts`", "reslts"),
}


@pytest.mark.thorough
@pytest.mark.parametrize("options", MISTAKES)
def test_kernel_mistakes(tmp_path: Path, options: str) -> None:
    """A wrong expression of an entry is an error at its place in the backend file."""
    code, message, wrong = MISTAKES[options]
    backend = tmp_path / "backend.yaml"
    entry = f"- mul.Tensor: {{{options}}}"
    backend.write_text(f"backend: PrivateUse1\ncpp_namespace: acme\nsupported:\n{entry}\n", encoding="utf-8")
    printed = errors_of(*kernel_arguments(backend), "--out", tmp_path / "out")
    assert f"error[{code}]: " in printed
    assert message in printed
    assert f"backend.yaml:4:{entry.index(wrong) + 1}\n" in printed
    assert not (tmp_path / "out" / "Kernels.cpp").exists()


def test_kernel_types(tmp_path: Path) -> None:
    """A size that is an argument of another type than a tensor or a list is an error."""
    text = "- add.Tensor: {exec: aclnnAdd, results: {out: {size: alpha, dtype: other}}}\n"
    backend = tmp_path / "backend.yaml"
    backend.write_text(f"backend: PrivateUse1\ncpp_namespace: acme\nsupported:\n{text}", encoding="utf-8")
    printed = errors_of(*kernel_arguments(backend), "--out", tmp_path / "out")
    assert "error[YAMLK0001]: `alpha` is `Scalar`, not `int[]`" in printed


def test_skips(torch: ModuleType, generate: Generate, monkeypatch: pytest.MonkeyPatch) -> None:
    """The dictionary of skips has objects that PyTorch's tests read, with the dtypes of the file."""
    # A package that PyTorch's tests need, and these objects do not.
    expecttest = ModuleType("expecttest")
    expecttest.__dict__["TestCase"] = unittest.TestCase
    monkeypatch.setitem(sys.modules, "expecttest", expecttest)
    out = generate("--input", SKIPS / "skips.yaml", "--plugin", SKIPS / "test_skips.py", "--only", "test_skips")
    names: dict[str, object] = {}
    exec((out / "test_skips.py").read_text(encoding="utf-8"), names)
    skips = names["SKIPS"]
    assert isinstance(skips, dict)
    assert list(skips) == ["add", "nn.functional.conv2d"]
    (skip,) = skips["add"]
    assert (skip.cls_name, skip.test_name, skip.dtypes) == ("TestCommon", "test_out", (torch.float64, torch.complex64))
    assert [(skip.test_name, skip.dtypes) for skip in skips["nn.functional.conv2d"]] == [
        (None, None),
        ("test_dtypes", (torch.bfloat16,)),
    ]


def test_wrong_skips(tmp_path: Path) -> None:
    """A dtype that does not exist is an error at its place."""
    file = tmp_path / "skips.yaml"
    file.write_text("test_skips:\n  add:\n    TestCommon: [float63]\n", encoding="utf-8")
    printed = errors_of(
        "--input", file, "--plugin", SKIPS / "test_skips.py", "--only", "test_skips", "--out", tmp_path / "out"
    )
    assert "error[E2331]: `test_skips.add.TestCommon` cannot be `float63`" in printed
    assert "skips.yaml:3:18" in printed
    assert "did you mean `float64`?" in printed


def shim_arguments(folder: Path, family: str) -> tuple[object, ...]:
    """The arguments that make a part of the shims from the files in a folder."""
    files = ("--backend", folder / "backend.yaml", "--input", folder / "shims.yaml")
    return (*files, "--plugin", SHIMS / "shim_list.py", "--only", family)


@pytest.mark.thorough
def test_shims(program: str, generate: Generate, tmp_path: Path) -> None:
    """The shims of a list compile if their header is as committed; if it differs, the difference is the error."""
    lists = tmp_path / "lists"
    shutil.copytree(SHIMS, lists)
    arguments = shim_arguments(lists, "shim_source")
    printed = errors_of(*arguments, "--out", tmp_path / "none")
    assert "+AOTI_TORCH_EXPORT AOTITorchError aoti_torch_acme_abs(" in printed
    shutil.copytree(generate(*shim_arguments(lists, "shim_header"), "--update-aoti-c-shim"), lists / "headers")
    (header,) = (lists / "headers").glob("v*/c_shim_acme.h")
    text = header.read_text(encoding="utf-8")
    assert "aoti_torch_acme_hardswish(AtenTensorHandle self, AtenTensorHandle* ret0);" in text
    assert "aoti_torch_acme_mul_Tensor(" not in text
    out = generate(*arguments)
    Compiler(program, tmp_path, [lists / "headers"]).library("shims", [out / "c_shim.cpp"])
    header.write_text(text.replace("acme_abs(", "acme_ebs("), encoding="utf-8")
    printed = errors_of(*arguments, "--out", out)
    assert [line.strip(" =") for line in printed.splitlines() if "bs(Aten" in line] == [
        "note: -AOTI_TORCH_EXPORT AOTITorchError aoti_torch_acme_ebs(AtenTensorHandle self, AtenTensorHandle* ret0);",
        "note: +AOTI_TORCH_EXPORT AOTITorchError aoti_torch_acme_abs(AtenTensorHandle self, AtenTensorHandle* ret0);",
    ]


def test_unknown_shims(tmp_path: Path) -> None:
    """A name in the list that no operator has is an error with the nearest name."""
    shutil.copy(SHIMS / "backend.yaml", tmp_path)
    text = (SHIMS / "shims.yaml").read_text(encoding="utf-8")
    (tmp_path / "shims.yaml").write_text(text.replace("aten.abs.default", "aten.abss.default"), encoding="utf-8")
    printed = errors_of(*shim_arguments(tmp_path, "shim_source"), "--out", tmp_path / "out")
    assert "error[SHIMS0001]: no operator `aten.abss.default`" in printed
    assert "did you mean `aten.abs.default`?" in printed


@pytest.mark.thorough
def test_changed_values(tmp_path: Path) -> None:
    """A kernel is made again if a value of its entry changes, and nothing is written if none does."""
    backend, out = tmp_path / "backend.yaml", tmp_path / "out"
    shutil.copy(KERNELS / "backend.yaml", backend)
    command = [sys.executable, "-m", "opwright", "generate", "--out", str(out), *map(str, kernel_arguments(backend))]

    def written() -> list[str]:
        before = {path.name: path.stat().st_mtime_ns for path in out.glob("[A-Z]*")}
        subprocess.run(command, capture_output=True, check=True)
        return sorted([path.name for path in out.glob("[A-Z]*") if before.get(path.name) != path.stat().st_mtime_ns])

    assert written() == ["Kernels.cpp", "PrivateUse1NativeFunctions.h", "RegisterPrivateUse1.cpp"]
    assert written() == []
    text = backend.read_text(encoding="utf-8")
    backend.write_text(text.replace("aclnnInplaceRelu", "aclnnRelu"), encoding="utf-8")
    assert written() == ["Kernels.cpp"]
    assert "ACME_EXEC(aclnnRelu, self);" in (out / "Kernels.cpp").read_text(encoding="utf-8")


@pytest.mark.parametrize("path", [KERNELS / "yaml_kernels.py", SKIPS / "test_skips.py", SHIMS / "shim_list.py"])
def test_sizes(path: Path) -> None:
    """A plug-in has 50 lines at most, without empty ones, and assigns to no attribute."""
    text = path.read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line.strip()]
    assert len(lines) <= 50
    assert max(map(len, lines)) <= 120
    assignments = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Assign)]
    targets = [part for node in assignments for target in node.targets for part in ast.walk(target)]
    assert assignments
    assert not [part for part in targets if isinstance(part, ast.Attribute)]
    assert "setattr" not in text


def test_schema(capsys: pytest.CaptureFixture[str]) -> None:
    """The JSON Schema of backend files has the keys of the plug-ins that the command names, and of no others."""
    try:
        assert main(["schema", "backend", "--plugin", str(KERNELS / "yaml_kernels.py")]) == 0
        fields = fields_at(BACKEND, ("supported", "relu"))
    finally:
        ensure_active(())
    schema = json.loads(capsys.readouterr().out)
    options = schema["$defs"]["backend_entry"]["anyOf"][1]["additionalProperties"]["properties"]
    assert options["exec"]["anyOf"][0] == {"type": "string"}
    assert {"exec", "results", "new_params"} <= {field.name for field in fields}
    assert "exec" not in {field.name for field in fields_at(BACKEND, ("supported", "relu"))}
