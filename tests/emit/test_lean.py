"""Lean sources: the code of the usual ones, in shorter files, each with the headers of its own operators."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from opwright.cli.main import main
from opwright.emit.aten.operators import emitters as operator_emitters
from opwright.emit.aten.register.registration import emitters as register_emitters
from opwright.emit.emitter import Options, Sharded
from tests.emit.emitting import job_of, slots_of

ATEN = Path("aten/src/ATen")

ENTRIES = """\
- func: add.Tensor(Tensor self, Tensor other) -> Tensor
  structured_delegate: add.out
- func: add.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)
  structured: True
  dispatch:
    CPU, CUDA: add_out
- func: relu(Tensor self) -> Tensor
  dispatch:
    CPU, Meta: relu
    CUDA: relu_cuda
"""


def headers_of(key: str, options: Options) -> list[str]:
    """The includes of operators in the only file of a dispatch key."""
    slots = slots_of(register_emitters, f"Register{key}_0.cpp", job_of(ENTRIES, options))
    return list(slots["ops_headers"])


def test_a_file_includes_the_headers_of_its_own_operators() -> None:
    """All units of this small job are in one file, so it includes the same headers; units bring them, not the file."""
    assert sorted(headers_of("CUDA", Options(lean=True))) == headers_of("CUDA", Options())
    job = job_of(ENTRIES, Options(lean=True))
    (cuda,) = [emitter for emitter in register_emitters(job) if emitter.name == "register_cuda_source"]
    assert cuda.file_slots(job)["ops_headers"] == []
    context = job.context(cuda.reads)
    assert [cuda.fragment(unit, context)["ops_headers"] for unit in cuda.units(job)] == [
        ["#include <ATen/ops/add_cuda_dispatch.h>", "#include <ATen/ops/add_native.h>"],
        ["#include <ATen/ops/relu_cuda_dispatch.h>", "#include <ATen/ops/relu_native.h>"],
    ]


def test_builds_without_headers_per_operator_include_the_same_files() -> None:
    """There is one header for all kernels then, which each file includes once."""
    few = Options(per_operator_headers=False)
    assert headers_of("CUDA", few._replace(lean=True)) == headers_of("CUDA", few)


@pytest.mark.parametrize(("overloads", "shards"), [(5 * 320, 5), (5 * 320 + 1, 10), (10 * 320 + 1, 20)])
def test_long_files_are_halved(overloads: int, shards: int) -> None:
    """A file has 320 overloads as a mean at most; the number of files is doubled, so it rarely changes."""
    entries = "".join([f"- func: f{number}(Tensor self) -> Tensor\n" for number in range(overloads)])
    (lean,) = [
        emitter
        for emitter in operator_emitters(job_of(entries, Options(lean=True)))
        if emitter.name == "operators_source"
    ]
    assert isinstance(lean.layout, Sharded)
    assert lean.layout.shards == shards


def code_of(folder: Path, name: str) -> tuple[Counter[str], set[str]]:
    """The registrations in the numbered shards of a source, and the heads of all that they define."""
    text = "".join([path.read_text(encoding="utf-8") for path in folder.glob(f"{name}_*.cpp")])
    registrations = re.findall(r"m\.(?:impl|def)\([^;]+;", text)
    return Counter(registrations), set(re.findall(r"^[^\s#/].*\{$", text, re.MULTILINE))


def test_lean_sources_have_the_same_code(tmp_path: Path) -> None:
    """Of PyTorch's own operators: what shards register and define is the same; other files have the same bytes."""
    usual, lean = tmp_path / "usual", tmp_path / "lean"
    for folder, *flags in ((usual,), (lean, "--lean")):
        assert main(["generate", "--torch", "auto", "--out", str(folder), "--only", "sources", *flags]) == 0
    names = {path.name.removesuffix("Everything.cpp") for path in usual.rglob("*Everything.cpp")}
    sharded = re.compile(rf"(?:{'|'.join(names)})(?:_\d+|Everything)\.cpp")
    others = [path.relative_to(usual) for path in usual.rglob("*.*") if path.is_file()]
    for path in others:
        if sharded.fullmatch(path.name) is None and ".opwright" not in path.parts:
            assert (lean / path).read_bytes() == (usual / path).read_bytes(), path
    assert not list(lean.rglob("*Everything.cpp"))
    assert "RegisterCPU" in names
    for name in names:
        assert code_of(lean / ATEN, name) == code_of(usual / ATEN, name), name
