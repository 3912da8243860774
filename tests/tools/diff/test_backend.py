"""What a backend has to do for another release."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from opwright.cli.main import main

BACKEND = """\
backend: PrivateUse1
display_name: Acme
cpp_namespace: acme
supported:
- empty.memory_format
- align_to
- qr
- _cdist_forward
"""

OLD = """\
- func: kept(Tensor self) -> Tensor
  dispatch:
    CPU: kept
- func: grown(Tensor self) -> Tensor
  dispatch:
    CPU: grown
- func: lost(Tensor self) -> Tensor
- func: renamed(Tensor self) -> Tensor
  dispatch:
    CPU: renamed
"""
NEW = """\
- func: kept(Tensor self) -> Tensor
  dispatch:
    CPU: kept
- func: grown(Tensor self, bool fast=False) -> Tensor
  dispatch:
    CPU: grown
- func: lost(Tensor self) -> Tensor
  dispatch:
    CPU: lost
- func: renames(Tensor self) -> Tensor
  dispatch:
    CPU: renames
"""
OWN = """\
backend: PrivateUse1
display_name: Acme
cpp_namespace: acme
supported:
- kept
- grown
- renamed
"""


KEPT_FORMULA = "- name: kept(Tensor self) -> Tensor\n  self: grad\n"


def folder_of(text: str, path: Path, formulas: str = KEPT_FORMULA) -> str:
    """A folder of inputs whose operators are those of a text."""
    native = path / "ATen" / "native"
    native.mkdir(parents=True)
    (native / "native_functions.yaml").write_text(text, encoding="utf-8")
    tags = "- tag: {0}\n  desc: d\n"
    names = ("core", "out", "inplace", "generated", "pt2_compliant_tag")
    (native / "tags.yaml").write_text("".join(map(tags.format, names)), encoding="utf-8")
    autograd = path / "autograd"
    autograd.mkdir()
    (autograd / "derivatives.yaml").write_text(formulas, encoding="utf-8")
    return str(path / "ATen")


def test_each_kind_of_work_is_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Renamed operators, kernels with another signature, and operators that lose or lack kernels are listed."""
    backend = tmp_path / "acme.yaml"
    backend.write_text(OWN, encoding="utf-8")
    sides = [folder_of(text, tmp_path / name) for name, text in (("old", OLD), ("new", NEW))]
    assert main(["diff", *sides, "--backend", str(backend), "--format", "json"]) == 1
    document = json.loads(capsys.readouterr().out)
    tasks = [(task["kind"], task["operator"], task["line"]) for task in document["backend"]]
    assert tasks == [("entry", "renamed", 7), ("kernel", "grown", 6), ("lost", "lost", 0), ("new", "renames", 0)]
    messages = {task["operator"]: (task["message"], task["help"]) for task in document["backend"]}
    assert messages["renamed"] == ("there is no operator `renamed`", "did you mean `renames`?")
    assert messages["grown"][0] == (
        "`grown` is `at::Tensor (const at::Tensor &, bool)` instead of `at::Tensor (const at::Tensor &)`"
    )
    assert [change["name"] for change in document["changes"]] == ["renamed", "grown"]
    assert main(["diff", sides[0], sides[0], "--backend", str(backend)]) == 0
    assert "The backend has nothing to do." in capsys.readouterr().out


FACTORY = """\
- func: empty.memory_format(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, \
bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor
  dispatch:
    CPU: empty
"""
INHERITED = "backend: PrivateUse1\ncpp_namespace: acme\nsupported:\n- grown: {inherit: shared}\n"


@pytest.mark.parametrize(
    ("formula", "lacking"),
    [
        ("grad", ""),
        ("lost(grad)", "`lost`, which is missing"),
        ("lost(renames(grad))", "`lost`, `renames`, which are missing"),
    ],
)
def test_gradients_that_no_longer_work_are_found(
    formula: str, lacking: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A formula that calls operators without a kernel is work if the gradient worked before."""
    backend = tmp_path / "acme.yaml"
    backend.write_text(OWN.replace("- renamed\n", ""), encoding="utf-8")
    head = KEPT_FORMULA.removesuffix("grad\n")
    sides = [
        folder_of(text, tmp_path / name, f"{head}{own}\n")
        for name, text, own in (("old", OLD, "grad"), ("new", NEW, formula), ("later", NEW, formula))
    ]
    main(["diff", *sides[:2], "--backend", str(backend)])
    found = capsys.readouterr().out.partition("Operators whose gradients no longer work: 1\n")[2]
    assert found.split("\n\n")[0].split() == (f"kept its formula calls {lacking}".split() if lacking else [])
    main(["diff", *sides[1:], "--backend", str(backend)])
    assert "gradients no longer work" not in capsys.readouterr().out


def test_operators_that_every_device_needs_are_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An operator that a new release has is work even if nothing of the file is wrong; it is listed once."""
    backend = tmp_path / "acme.yaml"
    backend.write_text(OWN, encoding="utf-8")
    sides = [folder_of(text, tmp_path / name) for name, text in (("old", OLD), ("new", OLD + FACTORY), ("a", OLD))]
    assert main(["diff", sides[0], sides[1], "--backend", str(backend), "--format", "json"]) == 1
    (task,) = json.loads(capsys.readouterr().out)["backend"]
    assert (task["kind"], task["operator"]) == ("needed", "empty.memory_format")
    assert task["message"].startswith("without a kernel, ")
    for other in (sides[1], sides[2]):
        main(["diff", sides[1], other, "--backend", str(backend), "--format", "json"])
        assert json.loads(capsys.readouterr().out)["backend"] == []


def test_kernels_of_pytorch_may_change(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A kernel that the file takes from PyTorch changes with PyTorch."""
    backend = tmp_path / "acme.yaml"
    backend.write_text(INHERITED, encoding="utf-8")
    sides = [
        folder_of(text.replace("CPU: grown", "CPU, CUDA: grown"), tmp_path / name)
        for name, text in (("old", OLD), ("new", NEW))
    ]
    main(["diff", *sides, "grown", "--backend", str(backend), "--format", "json"])
    assert "kernel" not in [task["kind"] for task in json.loads(capsys.readouterr().out)["backend"]]


@pytest.mark.network
def test_operators_that_a_release_removes_are_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The entries of a backend file whose operators a release no longer has are listed with their lines."""
    backend = tmp_path / "acme.yaml"
    backend.write_text(BACKEND, encoding="utf-8")
    assert main(["diff", "2.12.1", "2.14.1", "--backend", str(backend)]) == 1
    text = capsys.readouterr().out
    assert "  align_to (line 6)\n      there is no operator `align_to`\n" in text
    assert "  qr (line 7)\n" in text
    assert "_cdist_forward" not in text
    assert max(map(len, text.splitlines())) <= 80


@pytest.mark.network
def test_mistakes_of_old_do_not_count(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A mistake that the file has with both releases is no work for the new one."""
    backend = tmp_path / "acme.yaml"
    backend.write_text(BACKEND.replace("align_to", "never_was").replace("- qr\n", ""), encoding="utf-8")
    assert main(["diff", "2.12.1", "2.13.0", "--backend", str(backend), "--fail-on", "any"]) == 0
    assert "never_was" not in capsys.readouterr().out
