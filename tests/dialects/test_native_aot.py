"""Declarations of kernels compiled ahead of time: what is read of them, and the place of each mistake."""

from __future__ import annotations

from pathlib import Path

import pytest

from opwright.dialects.native_aot import load_native_aot
from opwright.model.dispatch_key import CUDA
from opwright.model.more_inputs import NativeAotKernel
from opwright.release.inputs import from_source_path
from opwright.source.diagnostic import Diagnostics
from opwright.source.text import SourceFile
from tests.dialects.loading import found_faults, load_text
from tests.release.fake_torch import INPUT_NAMES, write_files, write_source_tree

OPERATORS = """
- func: top(Tensor self, int k) -> Tensor
  structured_delegate: top.out
- func: top.out(Tensor self, int k, *, Tensor(a!) out) -> Tensor(a!)
  structured: True
  dispatch:
    CUDA: top_out_cuda
- func: more.Tensor(Tensor self, Tensor other) -> Tensor
  structured_delegate: more.Tensor_out
- func: more.Tensor_out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)
  structured: True
  dispatch:
    CUDA: more_out_cuda
- func: more.Scalar(Tensor self, Scalar other) -> Tensor
  structured_delegate: more.Scalar_out
- func: more.Scalar_out(Tensor self, Scalar other, *, Tensor(a!) out) -> Tensor(a!)
  structured: True
  dispatch:
    CUDA: more_scalar_out_cuda
- func: plain(Tensor self) -> Tensor
"""

TOP = """\
import math

ATEN_OP = "top"
DISPATCH_KEY: str = "CUDA"
KERNEL_MODULE = "kernels.py"
SIZES = tuple(2**n for n in range(math.ceil(3.2)))
"""


def loaded(*texts: str) -> tuple[tuple[NativeAotKernel, ...], Diagnostics]:
    """The kernels that the texts declare, and the sink."""
    catalog, sink = load_text(OPERATORS)
    sink.raise_if_errors()
    files = [SourceFile(f"ops/{number}/aot.py", text) for number, text in enumerate(texts)]
    return load_native_aot(files, catalog, sink), sink


@pytest.mark.filterwarnings("error")
def test_python_says_nothing_itself() -> None:
    """What Python warns about in a module is not printed, and is no mistake."""
    kernels, sink = loaded(TOP + "NUMBER = 1if True else 2\n")
    assert len(kernels) == 1
    assert not len(sink)


def test_constants_are_read() -> None:
    """The operation, the key and whether it is unconditional; what needs to be run is not looked at."""
    more = TOP.replace('"top"', '"more.Tensor"') + "UNCONDITIONAL = True\n"
    kernels, sink = loaded(TOP, more)
    assert not sink.has_errors
    assert [(kernel.operator, kernel.key, kernel.unconditional) for kernel in kernels] == [
        ("more.Tensor", CUDA, True),
        ("top", CUDA, False),
    ]
    assert kernels[0].stub == "more_Tensor_aot_stub"
    assert kernels[1].group.functional.name.text == "top"


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ('ATEN_OP = "top"\n', "\n", (1, 1, 11, "E0520")),
        ('"kernels.py"', 'f"{math}.py"', (5, 17, 12, "E0520")),
        ('"CUDA"', '"CUD"', (4, 21, 5, "E0520")),
        ('"CUDA"', '"ä" + "CUDA"', (4, 21, 12, "E0520")),
        ("SIZES =", "UNCONDITIONAL = 1 #", (6, 17, 1, "E0520")),
        ("SIZES =", "def declarations(): return [] #", (1, 1, 11, "E0520")),
        ("SIZES =", "SIZES = (", (6, 1, 52, "E0520")),
        ('"top"', '"plain"', (3, 11, 7, "E0521")),
        ('"top"', '"more"', (3, 11, 6, "E0521")),
        ('"top"', '"more.Tenso"', (3, 11, 12, "E0521")),
    ],
)
def test_each_mistake_is_found_at_its_place(old: str, new: str, fault: tuple[int, int, int, str]) -> None:
    """One mistake, one diagnostic, at the value that is wrong."""
    kernels, sink = loaded(TOP.replace(old, new))
    assert kernels == ()
    assert found_faults(sink) == (fault,)


def test_a_help_names_what_may_be_meant() -> None:
    """Overloads of an ambiguous name are listed, and a misspelt key is mended."""
    _, sink = loaded(TOP.replace('"top"', '"more"'))
    assert [diagnostic.help for diagnostic in sink] == ["name one of them: more.Scalar, more.Tensor"]
    _, sink = loaded(TOP.replace('"CUDA"', '"CUD"'))
    assert [diagnostic.help for diagnostic in sink] == ["did you mean `CUDA`?"]


def test_a_kernel_is_declared_once() -> None:
    """A second declaration of the same operation and key is a fault of the second file."""
    _, sink = loaded(TOP, TOP)
    assert [(diagnostic.code, diagnostic.span.file.path if diagnostic.span else "") for diagnostic in sink] == [
        ("E0522", "ops/1/aot.py")
    ]


def test_declarations_are_found_beside_the_inputs(tmp_path: Path) -> None:
    """In a tree they stand in `torch/_native/ops`; a folder may be named instead, and nothing if it is empty."""
    tree = write_source_tree(tmp_path / "tree")
    write_files(tree / "torch" / "_native" / "ops", {"top/aot.py": TOP, "top/kernels.py": "", "other/kernels.py": ""})
    inputs = from_source_path(tree)
    assert inputs.names() == tuple(sorted([*INPUT_NAMES, "native_aot/top/aot.py"]))
    assert inputs.read_text("native_aot/top/aot.py").text == TOP
    none = inputs.with_native_aot("")
    assert none.names() == INPUT_NAMES
    assert none.digest != inputs.digest
    write_files(tmp_path / "mine", {"bottom/aot.py": TOP + "# mine\n"})
    mine = inputs.with_native_aot(str(tmp_path / "mine"))
    assert mine.names() == tuple(sorted([*INPUT_NAMES, "native_aot/bottom/aot.py"]))
    assert mine.read_text("native_aot/bottom/aot.py").text.endswith("# mine\n")
    assert inputs.with_native_aot(None) is inputs


def test_a_folder_that_is_not_there_is_a_warning(tmp_path: Path) -> None:
    """It is taken for one without kernels, as PyTorch's generator does, but not in silence."""
    inputs = from_source_path(write_source_tree(tmp_path / "tree"))
    sink = Diagnostics()
    assert inputs.with_native_aot(str(tmp_path / "nowhere"), sink).names() == INPUT_NAMES
    assert [diagnostic.code for diagnostic in sink] == ["W0503"]
    inputs.with_native_aot("", sink)
    inputs.with_native_aot(str(tmp_path), sink)
    assert len(sink) == 1


def test_a_new_declaration_is_a_change(tmp_path: Path) -> None:
    """Where one may come to stand is watched: the folder itself, and a place in each inner folder."""
    tree = write_source_tree(tmp_path / "tree")
    ops = tree / "torch" / "_native" / "ops"
    write_files(ops, {"top/kernels.py": ""})
    paths = from_source_path(tree).paths()
    assert paths is not None
    assert str(ops) in paths.folders
    assert str(ops / "top" / "aot.py") in paths.files
    mine = from_source_path(tree).with_native_aot(str(tmp_path / "mine")).paths()
    assert mine is not None
    assert str(tmp_path / "mine") in mine.folders
