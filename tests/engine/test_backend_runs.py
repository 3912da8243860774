"""Runs for backends with operators of their own and of other libraries."""

from __future__ import annotations

from pathlib import Path

import pytest

from opwright.cli.main import main
from tests.engine.project import files_of

HEAD = "backend: PrivateUse1\ncpp_namespace: acme::native\nsupported:\n- add.Tensor\n"
OWN = "namespace: acme\noperators:\n- func: scale(Tensor self, float factor) -> Tensor\n"
NMS = "- func: torchvision::nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor\n"


def generated(folder: Path, text: str, *flags: str) -> set[str]:
    """The paths of the files that a run for a backend file leaves in the output folder."""
    (folder / "acme.yaml").write_text(text)
    assert main(["generate", "--backend", str(folder / "acme.yaml"), "--out", str(folder / "out"), *flags]) == 0
    return {path for path in files_of(folder / "out") if not path.startswith(".opwright")}


def test_one_run_makes_the_files_of_own_operators(tmp_path: Path) -> None:
    """A run makes the files of a backend and of the operators that it defines, and removes those of a library again."""
    files = generated(tmp_path, HEAD + OWN)
    backend = {"PrivateUse1NativeFunctions.h", "RegisterPrivateUse1.cpp"}
    assert backend < files
    assert {"include/acme/ops.h", "src/acme/register_0.cpp", "python/acme/_ops.py"} <= files
    registrations = (tmp_path / "out/src/acme/register_0.cpp").read_text()
    assert "TORCH_LIBRARY_IMPL(acme, PrivateUse1, m)" in registrations
    assert generated(tmp_path, HEAD) == backend


def test_a_run_reads_the_library_file_again_after_an_edit(tmp_path: Path) -> None:
    """The own operators may be in a library file, and an edit of that file alone is noticed."""
    library = tmp_path / "operators.yaml"
    library.write_text(OWN.replace("scale", "shift"))
    header = tmp_path / "out/include/acme/ops.h"
    generated(tmp_path, f"{HEAD}library: operators.yaml\n")
    assert "shift(" in header.read_text()
    library.write_text(OWN)
    generated(tmp_path, f"{HEAD}library: operators.yaml\n")
    assert "scale(" in header.read_text()


def test_entries_name_operators_of_other_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An entry may name an operator of a file that the run names, and no other operator."""
    operators = tmp_path / "torchvision.yaml"
    operators.write_text(NMS)
    generated(tmp_path, f"{HEAD}- torchvision::nms\n", "--operators", str(operators))
    registrations = (tmp_path / "out/RegisterPrivateUse1.cpp").read_text()
    assert "TORCH_LIBRARY_IMPL(torchvision, PrivateUse1, m)" in registrations
    (tmp_path / "acme.yaml").write_text(f"{HEAD}- torchvision::nsm\n")
    flags = ["--operators", str(operators), "--out", str(tmp_path / "out")]
    assert main(["generate", "--backend", str(tmp_path / "acme.yaml"), *flags]) == 1
    assert "did you mean `torchvision::nms`?" in capsys.readouterr().err
