"""Static dispatch to backends that do not exist, or have no kernels in the run."""

from __future__ import annotations

from pathlib import Path

import pytest

from opwright.cli.main import main
from opwright.torchgen.gen import main as drop_in


@pytest.mark.parametrize("program", ["generate", "drop-in"])
def test_an_unknown_backend_is_an_error(
    reference_inputs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], program: str
) -> None:
    """Both programs refuse it, as PyTorch's generator does, with the name that may be meant."""
    flags = ["--static-dispatch-backend", "CPUU"]
    if program == "generate":
        status = main(["generate", "--source-path", str(reference_inputs), "--out", str(tmp_path / "out"), *flags])
    else:
        status = drop_in(["-s", str(reference_inputs), "-d", str(tmp_path / "out"), *flags])
    assert status == 1
    said = capsys.readouterr().err
    assert "error[E0705]: there is no backend `CPUU`" in said
    assert "did you mean `CPU`?" in said


@pytest.mark.thorough
@pytest.mark.parametrize(("key", "help"), [("XPU", "add `--xpu`"), ("AutogradCPU", "")])
def test_a_backend_without_kernels_is_refused(
    reference_inputs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], key: str, help: str
) -> None:
    """The calls would not compile: an error, with the flag that is missing; the drop-in writes them with a warning."""
    flags = ["--static-dispatch-backend", key]
    place = ["--source-path", str(reference_inputs)]
    assert main(["generate", *place, "--out", str(tmp_path / "out"), "--only", "declarations_yaml", *flags]) == 1
    said = capsys.readouterr().err
    assert f"error[E0707]: no operator of this run has a kernel for `{key}`" in said
    assert help in said
    assert ("help" in said) == bool(help)
    folders = ["-d", str(tmp_path / "aten"), "--aoti-install-dir", str(tmp_path / "aoti")]
    assert drop_in([*place, *folders, "--generate", "declarations_yaml", "--static-dispatch-backend", key]) == 0
    assert f"warning[E0707]: no operator of this run has a kernel for `{key}`" in capsys.readouterr().err
