"""Lean files: the code of the usual ones, in shorter sources, each with the headers of its own operators."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from opwright.cli.main import main
from opwright.emit.aten.composite_kernels import emitters as composite_emitters
from opwright.emit.aten.functionalization import emitters as functionalization_emitters
from opwright.emit.aten.operators import emitters as operator_emitters
from opwright.emit.aten.register.registration import emitters as register_emitters
from opwright.emit.emitter import EmitterSource, Options, Sharded
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


#: A view that functionalization registers, whose copy is generated, and an operator that needs neither.
VIEWS = """\
- func: rows(Tensor(a) self, int dim) -> Tensor(a)
  variants: function, method
  dispatch:
    CompositeExplicitAutograd: rows
- func: rows_copy(Tensor self, int dim) -> Tensor
  dispatch:
    CompositeExplicitAutogradNonFunctional: rows_copy
  tags: view_copy
  autogen: rows_copy.out
- func: plain(Tensor self) -> Tensor
"""


@pytest.mark.parametrize(
    ("source", "path"),
    [
        (functionalization_emitters, "RegisterFunctionalization_0.cpp"),
        (composite_emitters, "CompositeViewCopyKernels.cpp"),
    ],
)
def test_operators_without_code_in_a_file_have_no_headers_there(source: EmitterSource, path: str) -> None:
    """The usual sources include the headers of operators for which they have nothing."""
    usual, lean = (
        "\n".join(
            [str(line) for slot, lines in slots_of(source, path, job_of(VIEWS, options)).items() for line in lines]
        )
        for options in (Options(), Options(lean=True))
    )
    plain = re.compile("#include <ATen/ops/plain_(?:ops|native).h>")
    assert bool(plain.search(usual)) is (source is functionalization_emitters)
    assert not plain.search(lean)
    assert "#include <ATen/ops/rows_copy_native.h>" in lean
    assert plain.sub("", usual).split() == lean.split()


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


OVERLOADS = """\
- func: add(Tensor self) -> Tensor
  variants: function, method
- func: plain(Tensor self) -> Tensor
"""
OVERLOAD = "- func: add.further(Tensor self, int by) -> Tensor\n"


def test_every_source_reads_the_classes_of_methods_and_of_no_other_overload() -> None:
    """An overload that is no method changes the header of its operator alone, which includes that of the methods."""

    def classes(path: str, entries: str) -> str:
        slots = slots_of(operator_emitters, path, job_of(entries, Options(lean=True)))
        return "\n".join([line for lines in slots.values() for line in lines])

    methods = classes("MethodOperators.h", OVERLOADS)
    assert "struct TORCH_API add {" in methods
    assert "plain" not in methods
    assert classes("MethodOperators.h", OVERLOADS + OVERLOAD) == methods
    assert "#include <ATen/MethodOperators.h>" in classes("add_ops.h", OVERLOADS)
    assert "struct TORCH_API add_further {" in classes("add_ops.h", OVERLOADS + OVERLOAD)
    assert "#include" not in classes("plain_ops.h", OVERLOADS)


@pytest.mark.thorough
def test_lean_headers_declare_the_same_classes(tmp_path: Path) -> None:
    """Each class of PyTorch's operators is in one header. All other headers have the same bytes."""
    usual, lean = generated(tmp_path, "headers")
    classes = re.compile(r"^struct TORCH_API \w+ \{$.*?^\};$", re.MULTILINE | re.DOTALL)
    declared: list[Counter[str]] = []
    for folder in (usual, lean):
        moved = [folder / ATEN / "MethodOperators.h", *(folder / ATEN / "ops").glob("*_ops.h")]
        declared.append(Counter([text for path in moved for text in classes.findall(path.read_text("utf-8"))]))
    assert declared[0] == declared[1]
    assert set(declared[0].values()) == {1}
    for path in usual.rglob("*.h"):
        if not path.name.endswith("_ops.h") and path.name != "MethodOperators.h":
            assert (lean / path.relative_to(usual)).read_bytes() == path.read_bytes(), path


def generated(folder: Path, family: str) -> tuple[Path, Path]:
    """The usual and the lean files of PyTorch's operators."""
    usual, lean = folder / "usual", folder / "lean"
    for out, *flags in ((usual,), (lean, "--lean")):
        assert main(["generate", "--torch", "auto", "--out", str(out), "--only", family, *flags]) == 0
    return usual, lean


def code_of(folder: Path, name: str) -> tuple[Counter[str], set[str]]:
    """The registrations in the numbered shards of a source, and the heads of all that they define."""
    text = "".join([path.read_text(encoding="utf-8") for path in folder.glob(f"{name}_*.cpp")])
    registrations = re.findall(r"m\.(?:impl|def)\([^;]+;", text)
    return Counter(registrations), set(re.findall(r"^[^\s#/].*\{$", text, re.MULTILINE))


def without_headers(path: Path) -> list[str]:
    """The lines of a file, those of CompositeViewCopyKernels.cpp without the includes of operators."""
    lines = path.read_text(encoding="utf-8").splitlines()
    if path.name == "CompositeViewCopyKernels.cpp":
        return [line for line in lines if not line.startswith("#include <ATen/ops/")]
    return lines


def test_lean_sources_have_the_same_code(tmp_path: Path) -> None:
    """Of PyTorch's operators: what shards register and define is the same; other files have the same bytes."""
    usual, lean = generated(tmp_path, "sources")
    names = {path.name.removesuffix("Everything.cpp") for path in usual.rglob("*Everything.cpp")}
    sharded = re.compile(rf"(?:{'|'.join(names)})(?:_\d+|Everything)\.cpp")
    others = [path.relative_to(usual) for path in usual.rglob("*.*") if path.is_file()]
    for path in others:
        if sharded.fullmatch(path.name) is None and ".opwright" not in path.parts:
            assert without_headers(lean / path) == without_headers(usual / path), path
    assert not list(lean.rglob("*Everything.cpp"))
    assert "RegisterCPU" in names
    for name in names:
        assert code_of(lean / ATEN, name) == code_of(usual / ATEN, name), name
