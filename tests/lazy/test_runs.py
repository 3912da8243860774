"""Runs after an edit write what a fresh run writes, and the flag of PyTorch's build asks for the same files."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from opwright.cli.main import main as program
from opwright.torchgen import gen_lazy_tensor, generate_code
from tests.conformance.compare import compare, files_below
from tests.conformance.inputs import reference_version
from tests.lazy.lazy_cases import FOLDER

YAML = """\
backend: Lazy
cpp_namespace: acme
full_codegen:
  - tanh
  - embedding_dense_backward
  - mean
  - slice_copy.Tensor
supported:
  - abs
non_native:
  - func: scalar(Scalar value, ScalarType type) -> Tensor
    opkind: at::prim::Constant
"""
FLAGS = ["-s", "lazy.yaml", "--source-path", "ATen", "--gen-ts-lowerings"]
HEADER = Path("torch/csrc/lazy/core/shape_inference.h")
#: An entry up to its last argument, whose out overload is synthesized.
ENTRY = "- func: embedding_dense_backward(Tensor grad_output, Tensor indices, SymInt num_weights, SymInt padding_idx, "
NATIVE = Path("ATen/native/native_functions.yaml")


def replace(path: Path, old: str, new: str) -> None:
    """Edit a file."""
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


@pytest.fixture
def project(reference_inputs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with a backend, its shape functions and PyTorch's inputs."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(reference_inputs, tmp_path / "ATen")
    (tmp_path / HEADER).parent.mkdir(parents=True)
    (tmp_path / HEADER).write_bytes((FOLDER / "shapes.h").read_bytes())
    (tmp_path / "lazy.yaml").write_text(YAML)
    return tmp_path


EDITS: dict[str, Callable[[Path], None]] = {
    "symint": lambda folder: replace(folder / "lazy.yaml", "supported:", "symint: [slice_copy.Tensor]\nsupported:"),
    "section": lambda folder: replace(folder / "lazy.yaml", "supported:\n", "supported:\n  - clamp\n"),
    "property": lambda folder: replace(folder / "lazy.yaml", "Constant\n", "Constant\n    properties: [CreateFn]\n"),
    "kind": lambda folder: replace(folder / "lazy.yaml", "at::prim::Constant", "acme_constant"),
    "schema": lambda folder: replace(
        folder / NATIVE, f"{ENTRY}bool scale_grad_by_freq", f"{ENTRY}bool scale_grad_by_freq=False"
    ),
    "header": lambda folder: replace(folder / HEADER, "#pragma once", "#pragma once\n// edited"),
}


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
def test_a_run_after_an_edit_writes_what_a_fresh_run_writes(project: Path, edit: Callable[[Path], None]) -> None:
    """Whatever was edited, the files are those of a run into an empty folder."""
    assert gen_lazy_tensor.main([*FLAGS, "-o", "out"]) == 0
    edit(project)
    assert gen_lazy_tensor.main([*FLAGS, "-o", "out"]) == 0
    edited = {path: (project / "out" / path).read_bytes() for path in files_below(project / "out")}
    shutil.rmtree(project / "out")
    assert gen_lazy_tensor.main([*FLAGS, "-o", "out"]) == 0
    comparison = compare(edited, project / "out")
    assert comparison.is_clean, comparison.first_difference
    assert len(edited) == 5


def test_a_shape_function_that_goes_is_missed(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The header is an input: a run after its edit checks it again, and leaves the files as they were."""
    assert gen_lazy_tensor.main([*FLAGS, "-o", "out"]) == 0
    before = {path: (project / "out" / path).read_bytes() for path in files_below(project / "out")}
    replace(project / HEADER, "compute_shape_mean(", "compute_shape_median(")
    assert gen_lazy_tensor.main([*FLAGS, "-o", "out"]) == 1
    assert "error[E1618]" in capsys.readouterr().err
    assert compare(before, project / "out").is_clean


def test_the_flag_of_the_build_needs_its_files(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The YAML beside native_functions.yaml exists, and so does the file with the kernels, which defines them."""
    native, kernels = NATIVE.parent, Path("torch/csrc/lazy/ts_backend/ts_native_functions.cpp")
    flags = ["--native-functions-path", str(NATIVE), "--tags-path", str(native / "tags.yaml"), "--gen_lazy_ts_backend"]
    flags += ["--release", reference_version()]
    assert generate_code.main([*flags, "--subset", "python"]) == 1
    assert "ts_native_functions.yaml" in capsys.readouterr().err
    (project / native / "ts_native_functions.yaml").write_text(YAML)
    assert generate_code.main([*flags, "--subset", "python"]) == 1
    assert kernels.name in capsys.readouterr().err
    kernels.parent.mkdir(parents=True)
    kernels.write_text("// no kernel\n")
    assert generate_code.main([*flags, "--subset", "python"]) == 1
    assert "`LazyNativeFunctions::abs`" in capsys.readouterr().err
    assert not Path("torch/csrc/lazy/generated").exists()


OWN = (
    YAML.replace("cpp_namespace", "display_name: Acme\nnamespace: acme\ncpp_namespace")
    + """\
operators:
  - func: twice(Tensor self) -> Tensor
    dispatch: {CompositeImplicitAutograd: twice}
"""
)


def test_a_name_and_operators_of_its_own(project: Path) -> None:
    """A file with lazy tensors keeps the name of its backend, and the library of its own operators."""
    (project / "lazy.yaml").write_text(OWN)
    flags = ["--source-path", "ATen", "--release", "2.13", "--backend", "lazy.yaml", "--out", "out"]
    assert program(["generate", *flags, "--only", "lazy", "--only", "library"]) == 0
    files = {path: (project / "out" / path).read_text() for path in files_below(project / "out")}
    assert any("struct AcmeNativeFunctions" in text for text in files.values())
    assert any("twice" in text for path, text in files.items() if str(path).endswith("acme/ops.h"))
