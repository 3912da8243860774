"""A sandbox with the inputs that docs/core.md names is enough, and with fewer the programs refuse to run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from opwright.cli.main import main as cli
from opwright.torchgen import gen
from tests.conformance.inputs import ROOT, source_tree

#: Files of a tree whose absence once gave other code without a word.
MISSED = (
    "version.txt",
    "torchgen/aoti/fallback_ops.py",
    "torchgen/model.py",
    "tools/autograd/gen_variable_type.py",
)


def declared_files(tree: Path) -> dict[str, Path]:
    """The files of a tree that the page declares."""
    (text,) = re.findall(r"(?s)\nOPWRIGHT_INPUTS = \[\n(.*?)\n\]\n", (ROOT / "docs/core.md").read_text("utf-8"))
    patterns = re.findall(r'"(.+)"', text)
    return {path.relative_to(tree).as_posix(): path for pattern in patterns for path in tree.glob(pattern)}


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The declared files of the installed PyTorch as a tree between releases, as links to files elsewhere."""
    top = tmp_path_factory.mktemp("sandbox")
    files = declared_files(source_tree())
    assert {*MISSED} <= files.keys()
    for name, path in files.items():
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).symlink_to(path)
    (top / "version.txt").unlink()
    (top / "version.txt").write_text("2.13.0a0\n")
    return top


def written(tree: Path, out: Path) -> dict[str, bytes] | None:
    """What the main program writes in a tree; None if it refuses."""
    words = ["--source-path", str(tree / "aten/src/ATen"), "--install-dir", str(out), "--aoti-install-dir", str(out)]
    if gen.main([*words, "--generate", "sources", "--inputs-only"]):
        return None
    return {path.relative_to(out).as_posix(): path.read_bytes() for path in out.rglob("*") if path.is_file()}


@pytest.mark.thorough
def test_the_declared_inputs_are_enough(sandbox: Path, tmp_path: Path) -> None:
    """The sandbox gives the bytes that the whole tree gives, those of C shims among them."""
    whole = written(source_tree(), tmp_path / "whole")
    assert whole is not None
    assert any(name.startswith("c_shim_") for name in whole)
    assert written(sandbox, tmp_path / "sandbox") == whole


@pytest.mark.parametrize("name", MISSED)
def test_no_input_has_a_default(name: str, sandbox: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without one of them the program ends with an error that names the file, and writes nothing."""
    kept = sandbox / f"{name}.kept"
    (sandbox / name).rename(kept)
    try:
        assert written(sandbox, tmp_path / "out") is None
        assert not (tmp_path / "out").exists()
    finally:
        kept.rename(sandbox / name)
    assert Path(name).name in capsys.readouterr().err


def test_a_missing_input_hides_no_mistakes(sandbox: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A run tells of a missing table and, at once, of what is wrong in the derivatives."""
    table, derivatives = sandbox / MISSED[1], sandbox / "tools/autograd/derivatives.yaml"
    kept = [path.rename(f"{path}.kept") for path in (table, derivatives)]
    derivatives.write_text(kept[1].read_text() + "\n- name: no_such_operator(Tensor self) -> Tensor\n  self: grad\n")
    try:
        words = ["--source-path", str(sandbox / "aten/src/ATen"), "--out", str(tmp_path / "out")]
        assert cli(["generate", *words, "--release", "2.13.0"]) == 1
    finally:
        derivatives.unlink()
        table_kept, derivatives_kept = kept
        table_kept.rename(table)
        derivatives_kept.rename(derivatives)
    said = capsys.readouterr().err
    assert ("error[E0514]" in said, "no_such_operator" in said) == (True, True)
