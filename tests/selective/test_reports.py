"""What `opwright select` reports of inputs of every kind, as whole texts."""

from __future__ import annotations

import os
import tempfile
from functools import cache
from pathlib import Path

import pytest

from opwright.mobile.selective.reports import render_explanation, render_json, render_text
from opwright.mobile.selective.selecting import SelectionOutcome, SelectRequest, select_operators
from opwright.release.inputs import from_source_path
from opwright.run.request import Request
from opwright.source.diagnostic import Diagnostics
from tests.selective.model_files import model, number, plan, tensor
from tests.text_files import write_texts

FOLDER = Path(__file__).with_name("reports")
OPERATORS = """\
- func: add.Tensor(Tensor self, Tensor other) -> Tensor
  dispatch: {CPU: add, CUDA: add_cuda}
- func: add.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)
  dispatch: {CPU: add_out}
- func: mul(Tensor self, Tensor other) -> Tensor
  dispatch: {CPU: mul}
- func: resize_(Tensor(a!) self, SymInt[] size) -> Tensor(a!)
  dispatch: {CPU: resize_}
- func: copy_(Tensor(a!) self, Tensor src) -> Tensor(a!)
- func: twice(Tensor self) -> Tensor
- func: unused.a(Tensor self) -> Tensor
- func: unused.b(Tensor self, int n) -> Tensor
  dispatch: {CPU: unused_b, CUDA: unused_b}
- func: unwanted(Tensor self) -> Tensor
"""
TAGS = "".join([f"- tag: {name}\n  desc: d\n" for name in ("core", "out", "inplace", "inplace_view", "generated")])
FILES = {
    "names.txt": "# Roots.\naten::add.out  # with a comment\n\naten::twice\n",
    "names.yaml": "- aten::mul\n",
    "kept.yaml": "operators:\n  aten::twice:\n    is_root_operator: false\n    is_used_for_training: true\n"
    "    debug_info: [phone@3, other]\n",
    "models.yaml": "- model: {name: net, version: 2, asset: a, backend: CPU, md5_hash: '1f'}\n"
    "  root_operators: [aten::add.Tensor]\n  traced_operators: [aten::add.Tensor, aten::copy_]\n  train: true\n"
    "- model: {name: net, version: 3, asset: a, backend: CPU, md5_hash: '2f'}\n  root_operators: [aten::mul]\n",
    "everything.yaml": "include_all_operators: true\n",
    "graph.yaml": "- name: aten::add.out\n  depends: [{name: aten::resize_}]\n- name: aten::resize_\n"
    "  depends: [{name: aten::copy_}, {name: aten::mul}]\n- name: __BASE__\n  depends: [{name: aten::twice}]\n"
    "- name: __ROOT__\n  depends: [{name: aten::unwanted}]\n",
}
MODEL = model(plan([("aten::mul", ""), ("aten::add", "out")], [tensor(6, b"\0\1"), number()], [(0, [0]), (0, [1])]))
SELECTIONS = {
    "lists": (("names.txt", "names.yaml"), (), None, False),
    "closed": (("names.txt",), (), "graph.yaml", False),
    "training": (("names.txt", "kept.yaml"), ("aten::mul",), "graph.yaml", True),
    "models": (("models.yaml", "kept.yaml", "net.pte"), (), "graph.yaml", False),
    "everything": (("everything.yaml",), (), None, False),
}


@cache
def outcome(name: str, folder: Path) -> SelectionOutcome:
    """A selection of the small PyTorch in a folder."""
    paths, names, graph, training = SELECTIONS[name]
    inputs = from_source_path(folder / "ATen")
    request = SelectRequest(paths, names, Request(inputs, {}, (), release="2.13.0"), graph, training)
    return select_operators(request, Diagnostics())


def fill(top: Path) -> Path:
    """Put a small PyTorch, and inputs of every kind, into a folder."""
    (top / "ATen" / "native").mkdir(parents=True)
    (top / "ATen" / "native" / "native_functions.yaml").write_text(OPERATORS)
    (top / "ATen" / "native" / "tags.yaml").write_text(TAGS)
    for name, text in FILES.items():
        (top / name).write_text(text)
    (top / "net.pte").write_bytes(MODEL)
    return top


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with all inputs."""
    return fill(tmp_path_factory.mktemp("selections"))


def text_of(name: str, folder: Path) -> str:
    """All forms of the report about a selection."""
    report = outcome(name, folder).report
    explanations = [render_explanation(own, entry) for own, entry in report.operators.items()]
    texts = [render_text(report), render_text(report, with_dropped=True), *explanations]
    return "---\n".join([*texts, render_json(report, [own for own in report.operators if own != "aten::twice"])])


def update() -> None:
    """Write the files."""
    working = os.getcwd()
    with tempfile.TemporaryDirectory() as top:
        os.chdir(fill(Path(top)))
        try:
            write_texts(FOLDER, {f"{name}.txt": text_of(name, Path(top)) for name in SELECTIONS})
        finally:
            os.chdir(working)


@pytest.mark.parametrize("name", SELECTIONS)
def test_reports_are_those_of_the_files(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each form shows what its file shows; `make cases` writes the files."""
    monkeypatch.chdir(folder)
    assert text_of(name, folder) == (FOLDER / f"{name}.txt").read_text(encoding="utf-8")
