"""Mistakes in the entries of a tree are diagnostics at their places, also those that only some signatures show."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from opwright.cli.main import main
from tests.conformance.inputs import complete_package

#: An entry -> the code of its fault.
FAULTS = {
    "- func: third(Tensor self, SymBool x) -> int\n": "E1024",
    "- func: fourth(Tensor self, Dict x) -> Tensor\n": "E0202",
    "- func: fifth(Tensor self, bool[] x) -> Tensor\n": "E0347",
}


@pytest.mark.thorough
@pytest.mark.parametrize("entry", FAULTS, ids=FAULTS.values())
def test_faults_have_places(
    entry: str, reference_inputs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A dump with a faulty entry is not written, and the diagnostic has the line of the entry."""
    tree = shutil.copytree(reference_inputs, tmp_path / "torchgen" / "packaged" / "ATen")
    shutil.copytree(reference_inputs.parent / "autograd", tree.with_name("autograd"))
    complete_package(tmp_path)
    operators = tree / "native" / "native_functions.yaml"
    text = operators.read_text(encoding="utf-8")
    operators.write_text(f"{text}\n{entry}", encoding="utf-8")
    out = tmp_path / "bindings.json"
    status = main(["dump", "--for", "bindings", "--source-path", str(tree), "--release", "2.13.0", "--out", str(out)])
    assert status == 1
    report = capsys.readouterr().err
    assert f"error[{FAULTS[entry]}]" in report
    assert f"native_functions.yaml:{text.count(chr(10)) + 2}:" in report
    assert not out.exists()
