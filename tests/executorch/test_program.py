"""The drop-in program writes the files that its flags ask for, and says what is missing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from opwright.torchgen.executorch.gen import main

SOURCE = Path(__file__).parent / "source"
ENTRY = "- op: add.out\n  kernels:\n    - arg_meta: null\n      kernel_name: mine::add_out\n"

Run = Callable[..., int]


@pytest.fixture
def run(tmp_path: Path, reference_inputs: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs the program in an empty folder with a file of operators."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "functions.yaml").write_text(ENTRY)
    native = reference_inputs / "native"
    inputs = ["--aten-yaml-path", f"{native}/native_functions.yaml", "--tags-path", f"{native}/tags.yaml", "-d", "out"]

    def run(*flags: str, source: Path = SOURCE) -> int:
        return main(["-s", str(source), *inputs, *flags])

    return run


def outputs(folder: Path) -> set[str]:
    """The names of the files that a run left."""
    return {path.name for path in (folder / "out").iterdir()}


def test_flags_choose_files(run: Run, tmp_path: Path) -> None:
    """Headers, sources and the list for CMake are made when they are asked for."""
    named = ("--functions-yaml-path", "functions.yaml")
    assert run(*named, "--generate", "headers", "-o", "paths.cmake") == 0
    headers = {"Functions.h", "NativeFunctions.h", "RegisterKernels.h"}
    assert outputs(tmp_path) == headers
    assert '"out/Functions.h"' in (tmp_path / "paths.cmake").read_text()
    assert run(*named, "--manual_registration") == 0
    assert outputs(tmp_path) == headers | {"RegisterKernels_0.cpp", "RegisterKernelsEverything.cpp"}


@pytest.mark.parametrize("text", ["", "# The kernels are in another file.\n"])
def test_a_file_without_content(text: str, run: Run, tmp_path: Path) -> None:
    """A file with nothing, or with comments alone, has no operators; the custom operators beside it stay."""
    (tmp_path / "functions.yaml").write_text(text)
    custom = "- func: mine::add.out(Tensor a, *, Tensor(a!) out) -> Tensor(a!)\n  kernels:\n"
    kernel = "    - arg_meta: null\n      kernel_name: mine::add_out\n"
    (tmp_path / "custom.yaml").write_text(f"{custom}{kernel}")
    assert run("--functions-yaml-path", "functions.yaml", "--custom-ops-yaml-path", "custom.yaml") == 0
    assert '"mine::add.out"' in (tmp_path / "out" / "RegisterCodegenUnboxedKernels_0.cpp").read_text()


def test_a_dry_run_writes_nothing(run: Run, tmp_path: Path) -> None:
    """Only the list is written, without the file that is not compiled."""
    assert run("--functions-yaml-path", "functions.yaml", "--dry-run", "-o", "paths.cmake") == 0
    assert outputs(tmp_path) == set()
    assert "Everything" not in (tmp_path / "paths.cmake").read_text()


def test_an_edit_of_a_template_is_noticed(run: Run, tmp_path: Path) -> None:
    """A run into the same folder fills the templates again if one of them changed, and otherwise writes nothing."""
    source = tmp_path / "source"
    (source / "templates").mkdir(parents=True)
    for path in (SOURCE / "templates").iterdir():
        (source / "templates" / path.name).write_text(path.read_text())
    named = ("--functions-yaml-path", "functions.yaml")
    assert run(*named, source=source) == 0
    header = tmp_path / "out" / "Functions.h"
    before = header.stat().st_mtime_ns
    assert run(*named, source=source) == 0
    assert header.stat().st_mtime_ns == before
    (source / "templates" / "Functions.h").write_text("// own\n${Functions_declarations}\n")
    assert run(*named, source=source) == 0
    assert header.read_text().startswith("// own\n")


def test_missing_files_are_reported(run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """ExecuTorch's program ignores files that do not exist; a strict run refuses them."""
    assert run("--functions-yaml-path", "none.yaml") == 0
    assert "W1914" in capsys.readouterr().err
    assert run("--functions-yaml-path", "none.yaml", "--strict") == 1
    assert "E1914" in capsys.readouterr().err
    assert run() == 0
    assert "W1929" in capsys.readouterr().err
    assert run("--functions-yaml-path", "functions.yaml", source=tmp_path) == 1
    assert "E1913" in capsys.readouterr().err
