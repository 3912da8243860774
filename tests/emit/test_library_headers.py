"""A library's headers do not hide those of PyTorch's operators."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from opwright.cli.main import main
from opwright.torchgen import gen


@pytest.fixture
def inputs(reference_inputs: Path, tmp_path: Path) -> Path:
    """A folder of inputs without entries."""
    folder = tmp_path / "inputs"
    shutil.copytree(reference_inputs, folder)
    (folder / "native" / "native_functions.yaml").write_text("")
    return folder


def generated(inputs: Path, out: Path, entries: str, *options: str) -> int:
    """The exit status of a run over some entries."""
    (inputs / "native" / "native_functions.yaml").write_text(entries)
    return main(["generate", "--source-path", str(inputs), "--release", "2.13", "--out", str(out), *options])


@pytest.mark.parametrize(
    ("name", "header", "owner"),
    [
        ("clip", "clip", "clip"),
        ("clip_", "clip", "clip"),
        ("clip.of_vend", "clip", "clip"),
        ("clip_native", "clip_native", "clip"),
        ("clip_cpu_dispatch", "clip_cpu_dispatch", "clip"),
    ],
)
def test_names_of_pytorch_are_refused(
    inputs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, header: str, owner: str
) -> None:
    """An operator of another namespace that wants a header of PyTorch's is an error at its entry."""
    written = "(a!)" if name.endswith("_") else ""
    entry = f"- func: vend::{name}(Tensor{written} self) -> Tensor{written}\n"
    assert generated(inputs, tmp_path / "out", entry, "--only", "headers") == 1
    said = capsys.readouterr().err
    assert "error[E0469]" in said
    assert f"the header `ops/{header}.h`, which is that of PyTorch's own `{owner}`" in said
    assert "native_functions.yaml:1:" in said
    assert not (tmp_path / "out" / "aten" / "src" / "ATen" / "ops").exists()


@pytest.mark.parametrize(
    ("entry", "options"),
    [
        ("- func: vend::vend_clip(Tensor self) -> Tensor\n", ("--only", "headers")),
        ("- func: clip(Tensor self) -> Tensor\n", ("--only", "headers")),
        ("- func: vend::clip(Tensor self) -> Tensor\n", ("--only", "declarations_yaml")),
        ("- func: vend::clip(Tensor self) -> Tensor\n", ("--only", "headers", "--no-per-operator-headers")),
        ("- func: vend::linalg_polar(Tensor self) -> Tensor\n", ("--only", "headers")),
    ],
)
def test_other_names_and_files_are_taken(inputs: Path, tmp_path: Path, entry: str, options: tuple[str, ...]) -> None:
    """Names that the release does not have, PyTorch's operators, and runs without such headers are let through."""
    assert generated(inputs, tmp_path / "out", entry, *options) == 0


def test_drop_ins_do_as_the_reference(inputs: Path, tmp_path: Path) -> None:
    """PyTorch's generator takes the name, and so does the program with its command line."""
    (inputs / "native" / "native_functions.yaml").write_text("- func: vend::clip(Tensor self) -> Tensor\n")
    words = ["--source-path", str(inputs), "--install-dir", str(tmp_path / "out"), "--per-operator-headers"]
    folders = ["--aoti-install-dir", str(tmp_path / "aoti"), "--headeronly-install-dir", str(tmp_path / "only")]
    assert gen.main([*words, *folders, "--generate", "headers"]) == 0
    assert (tmp_path / "out" / "ops" / "clip.h").exists()
