"""Drop-in programs write what build systems want to know: dependency files and stamps."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import opwright
from opwright.torchgen import gen


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A working folder, and an empty cache."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPWRIGHT_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr("gc.disable", lambda: None)


def declarations(source: Path, *words: str) -> int:
    """The quickest run of the program, with more words."""
    folders = ["--install-dir", "out", "--aoti-install-dir", "out/aoti", "--headeronly-install-dir", "out/h"]
    return gen.main(["--source-path", str(source), *folders, "--generate", "declarations_yaml", *words])


def rule(path: str) -> tuple[list[str], list[str]]:
    """The outputs and the inputs that a dependency file names."""
    outputs, _, inputs = Path(path).read_text().replace("\\\n", " ").partition(":")
    return outputs.split(), inputs.split()


@pytest.mark.thorough
def test_all_that_outputs_depend_on(reference_inputs: Path) -> None:
    """The rule has the outputs, the inputs, and Opwright's files; an unchanged run writes it again."""
    assert declarations(reference_inputs, "--depfile", "gen.d") == 0
    outputs, inputs = rule("gen.d")
    assert outputs == [str(Path("out/Declarations.yaml").resolve())]
    own = Path(opwright.__file__).parent
    wanted = (
        reference_inputs / "native" / "native_functions.yaml",
        own / "emit/aten/declarations.py",
        own / "__init__.py",
    )
    assert set(map(str, wanted)) <= set(inputs)
    text = Path("gen.d").read_bytes()
    Path("gen.d").unlink()
    made = Path("out/Declarations.yaml").stat()
    assert declarations(reference_inputs, "--depfile", "gen.d") == 0
    assert Path("gen.d").read_bytes() == text
    assert Path("out/Declarations.yaml").stat() == made


@pytest.mark.thorough
def test_stamp(reference_inputs: Path) -> None:
    """With a stamp, the rule names it alone, and each run touches it, also one that has nothing to do."""
    words = ("--depfile", "gen.d", "--stamp", "gen.stamp")
    assert declarations(reference_inputs, *words) == 0
    assert rule("gen.d")[0] == ["gen.stamp"]
    os.utime("gen.stamp", (1, 1))
    assert declarations(reference_inputs, *words) == 0
    assert Path("gen.stamp").stat().st_mtime > 1


@pytest.mark.thorough
@pytest.mark.parametrize("path", ["out/Declarations.yaml", "native/native_functions.yaml"])
def test_no_file_in_use(reference_inputs: Path, capsys: pytest.CaptureFixture[str], path: str) -> None:
    """An output or an input is no place for it, and stays as it is."""
    named = Path(path) if path.startswith("out") else reference_inputs / path
    assert declarations(reference_inputs) == 0
    before = named.read_bytes()
    assert declarations(reference_inputs, "--depfile", str(named)) == 1
    assert "E0613" in capsys.readouterr().err
    assert named.read_bytes() == before


def test_nothing_after_faults(tmp_path: Path) -> None:
    """A run with faults touches no stamp."""
    assert declarations(tmp_path / "nowhere", "--depfile", "gen.d", "--stamp", "gen.stamp") == 1
    assert not Path("gen.stamp").exists()
    assert not Path("gen.d").exists()
