"""A backend with a style of its own for nodes and kernels writes what a subclass of the reference's generator does."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import opwright
from opwright.backends.choices import BackendHeaders
from opwright.emit.emitter import Options
from opwright.emit.family import Family
from opwright.emit.registry import FAMILIES
from opwright.source.text import SourceFile
from tests.conformance.compare import compare, files_below
from tests.lazy import own_style
from tests.lazy.lazy_cases import FOLDER

YAML = """\
backend: XLA
cpp_namespace: acme
full_codegen:
  - tanh
  - mean
  - arange.start_out
  - embedding_dense_backward
  - native_batch_norm
  - slice_copy.Tensor
  - squeeze_copy.dim
symint:
  - slice_copy.Tensor
supported:
  - abs
non_native:
  - func: scalar(Scalar value, ScalarType type) -> Tensor
    opkind: at::prim::Constant
"""


@pytest.fixture
def family() -> Iterator[Family]:
    """The family of the backend's files, as a plug-in adds it."""
    row = Family(
        "acme",
        "lazy tensors of Acme",
        emitters=("tests.lazy.own_style",),
        folders={"acme": "acme"},
        inputs=FAMILIES["lazy"].inputs,
        dialects=FAMILIES["lazy"].dialects,
        checks=FAMILIES["lazy"].checks,
        by_default=False,
    )
    FAMILIES["acme"] = row
    yield row
    del FAMILIES["acme"]


@pytest.mark.thorough
def test_a_style_of_its_own_is_a_small_emitter(
    family: Family, reference_inputs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Functions for base, lowering and node, and names, give the bytes of a subclass with the same functions."""
    monkeypatch.chdir(tmp_path)
    header = tmp_path / "torch" / "csrc" / "lazy" / "core" / "shape_inference.h"
    header.parent.mkdir(parents=True)
    header.write_bytes((FOLDER / "shapes.h").read_bytes())
    (tmp_path / "acme.yaml").write_text(YAML)
    program = Path(__file__).with_name("reference_style.py")
    command = [sys.executable, str(program), str(reference_inputs), "acme.yaml", "out"]
    subprocess.run(command, check=True, capture_output=True)
    expected = {path: (tmp_path / "out" / path).read_bytes() for path in files_below(tmp_path / "out")}
    request = opwright.Request(
        opwright.open_inputs(),
        {"acme": "ours"},
        families=("acme",),
        options=Options(program=program.name, guests=(BackendHeaders("out/"), own_style.NAMES)),
        tolerant=True,
        backends=(SourceFile.read("acme.yaml"),),
    )
    opwright.generate(request, "ours")
    comparison = compare(expected, tmp_path / "ours")
    assert comparison.is_clean, comparison.first_difference
    assert len(expected) == 5
