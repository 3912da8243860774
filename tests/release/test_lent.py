"""Programs run on copies of PyTorch's folders as its own do: what a folder lacks is that of the installed one."""

from __future__ import annotations

import filecmp
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from opwright.cli.main import main as cli
from opwright.release.inputs import open_inputs
from opwright.release.lent import with_installed
from opwright.release.local import from_source_path
from opwright.source.diagnostic import Diagnostics
from opwright.torchgen import gen

#: Copies of the folders of an installed PyTorch: what is copied, where to, and where ATen is then.
LAYOUTS: Final = {
    "packaged as P": ("packaged", "P", "P/ATen"),
    "ATen alone": ("packaged/ATen", "ATen", "ATen"),
    "ATen below folders": ("packaged/ATen", "a/b/c/ATen", "a/b/c/ATen"),
    "torchgen": (".", "torchgen", "torchgen/packaged/ATen"),
    "packaged": ("packaged", "packaged", "packaged/ATen"),
    "as in a tree": ("packaged/ATen", "aten/src/ATen", "aten/src/ATen"),
    "ATen alone in packaged": ("packaged/ATen", "torchgen/packaged/ATen", "torchgen/packaged/ATen"),
    "another name": ("packaged/ATen", "inputs of mine", "inputs of mine"),
    "the working folder": ("packaged/ATen", ".", "."),
    "a slash": ("packaged/ATen", "ATen", "ATen/"),
    "around": ("packaged/ATen", "a/ATen", "a/../a/ATen"),
    "beside autograd": ("packaged", "tools", "tools/ATen"),
}


def lay_out(name: str, reference_inputs: Path, folder: Path) -> str:
    """Make a layout in a folder; gives the path of ATen."""
    source, target, aten = LAYOUTS[name]
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(reference_inputs.parents[1] / source, folder / target, ignore=ignored, dirs_exist_ok=True)
    return aten


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPWRIGHT_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path


@pytest.mark.thorough
@pytest.mark.parametrize("name", LAYOUTS)
def test_programs_run_on_copies(
    name: str, folder: Path, reference_inputs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One note says what came from the installed PyTorch; strictly it is an error, and declared inputs have no part."""
    words = ["--source-path", lay_out(name, reference_inputs, folder), "--install-dir", "out", "--dry-run"]
    assert gen.main(words) == 0
    assert capsys.readouterr().err.count("note[W0508]") == 1
    assert gen.main([*words, "--strict"]) == 1
    assert capsys.readouterr().err.count("error[W0508]") == 1
    assert gen.main([*words, "--inputs-only"]) == 1
    complaint = capsys.readouterr().err
    assert "W0508" not in complaint
    assert "= help: " in complaint


@pytest.mark.thorough
@pytest.mark.parametrize("name", LAYOUTS)
def test_the_bytes_are_those_of_the_reference(name: str, folder: Path, reference_inputs: Path) -> None:
    """Both generators run where the other does, and write the same bytes from a copy with an entry of its own."""
    aten = lay_out(name, reference_inputs, folder)
    with open(f"{aten}/native/native_functions.yaml", "a", encoding="utf-8") as stream:
        stream.write("\n- func: my_softclip(Tensor self, float limit=1.0) -> Tensor\n  variants: function\n")
    for module in ("torchgen.gen", "opwright.torchgen.gen"):
        # The reference makes no folder, and the copy is not to be imported in its place.
        for part in ("core", "ops"):
            (folder / module / part).mkdir(parents=True)
        words = ["--source-path", aten, "--install-dir", module, "--generate", "headers", "declarations_yaml"]
        call = f"import sys; sys.path.remove(''); from {module} import main; sys.argv[:] = {['gen', *words]}; main()"
        done = subprocess.run([sys.executable, "-c", call], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    names = [path.relative_to("torchgen.gen") for path in Path("torchgen.gen").rglob("*") if path.is_file()]
    _, different, missing = filecmp.cmpfiles("torchgen.gen", "opwright.torchgen.gen", map(str, names), shallow=False)
    assert len(names) > 1
    assert (different, missing) == ([], [])


def test_an_operator_of_a_copy_is_explained(
    folder: Path, reference_inputs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`explain` and `generate` read a copy of ATen alone."""
    aten = lay_out("ATen alone", reference_inputs, folder)
    assert cli(["explain", "relu", "--source-path", aten]) == 0
    assert "aten::relu" in capsys.readouterr().out
    assert cli(["generate", "--source-path", aten, "--out", "out", "--list-outputs"]) == 0
    assert "VariableType_0.cpp" in capsys.readouterr().out


def test_another_release_lends_nothing(folder: Path, reference_inputs: Path) -> None:
    """Inputs that look like those of another release, and whole ones, stay as they are."""
    aten = Path(lay_out("ATen alone", reference_inputs, folder))
    sink = Diagnostics()
    whole = open_inputs()
    assert with_installed(whole, sink) is whole
    inputs = from_source_path(aten)
    assert with_installed(inputs, sink, release="2.10") is inputs
    (aten / "native/tags.yaml").write_text("[]\n")
    inputs = from_source_path(aten)
    assert with_installed(inputs, sink) is inputs
    assert len(sink) == 0
    assert os.listdir(folder) == ["ATen"]
