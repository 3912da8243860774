"""`coverage --runtime` finds where the dispatcher of a process differs from the report."""

from __future__ import annotations

from pathlib import Path

import pytest

from opwright.cli.main import main

FILE = """\
backend: PrivateUse1
cpp_namespace: acme
derived_overloads: false
supported:
- add.Tensor
- abs.out
"""
#: A backend whose kernels are Python functions.
MODULE = """
import torch
library = torch.library.Library("aten", "IMPL")
for name in {names}:
    library.impl(name, lambda *arguments, **named: arguments[0], "PrivateUse1")
"""


def differences(
    folder: Path, names: list[str], capsys: pytest.CaptureFixture[str], *more: str
) -> tuple[int, list[str]]:
    """The exit status and the printed lines for a process with kernels of some names."""
    pytest.importorskip("torch")
    (folder / "acme.yaml").write_text(FILE)
    (folder / "acme_device.py").write_text(MODULE.format(names=names))
    status = main(["coverage", "--backend", str(folder / "acme.yaml"), "--runtime", "acme_device", *more])
    return status, capsys.readouterr().out.splitlines()


@pytest.fixture(autouse=True)
def in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The process finds the module in the working folder."""
    monkeypatch.chdir(tmp_path)


def test_a_process_with_the_kernels_of_the_file_agrees(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """All of PyTorch's operators are compared: those of the file, composites, and those that nothing implements."""
    status, lines = differences(tmp_path, ["add.Tensor", "abs.out"], capsys)
    assert lines == [lines[-1]]
    assert lines[-1].endswith(" operators compared, 0 differences")
    assert int(lines[-1].split()[0].replace(",", "")) > 3_000
    assert status == 0


def test_each_difference_has_a_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A kernel that is missing, one that the file does not have, and a fallback that it does not know."""
    status, lines = differences(tmp_path, ["add.Tensor", "relu"], capsys, "--fallback", "cpu")
    assert status == 1
    assert "the process has no kernel for all operators, and the fallback of the report is `cpu`" in lines
    assert "`abs.out`: the file has a kernel of the backend, and the process has none" in lines
    assert "`relu`: the process has a kernel that the file does not name; `manual` lists such" in lines


def test_a_module_that_fails_is_a_fault(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The error has what Python said."""
    (tmp_path / "acme.yaml").write_text(FILE)
    assert main(["coverage", "--backend", "acme.yaml", "--runtime", "no_such_module"]) == 1
    assert "No module named 'no_such_module'" in capsys.readouterr().err
