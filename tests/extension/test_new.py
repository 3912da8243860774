"""`opwright new`: the projects that it writes, and the names and folders that it refuses."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
import yaml

from opwright.cli.main import main
from opwright.extension.project import project_files, project_names
from tests.extension.backend_project import PROJECT, shared_files


def test_files_of_a_project(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The project has everything that it needs, under names made from one, and the command says how to go on."""
    monkeypatch.chdir(tmp_path)
    assert main(["new", "library", "acme-ops", "acme"]) == 0
    printed = capsys.readouterr().out.splitlines()
    files = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()}
    assert files == set(printed[: len(files)])
    assert {f"acme/{name}" for name in ("operators.yaml", "csrc/kernels.cpp", "src/acme_ops/__init__.py")} <= files
    assert printed[-4:] == ["", "  cd acme", "  pip install --no-build-isolation -e .", "  pytest"]
    assert 'name = "acme-ops"' in (tmp_path / "acme" / "pyproject.toml").read_text()


@pytest.mark.parametrize(("kind", "name"), [("library", "acme_ops"), ("backend", "npu")])
def test_no_placeholder_is_left(kind: str, name: str) -> None:
    """Every name that a file of the project asks for is filled in, and its Python and YAML can be read."""
    for path, text in project_files(kind, project_names(kind, name)):
        assert not re.search(r"@\w+@", path + text)
        if path.endswith(".py"):
            ast.parse(text)
        if path.endswith((".yaml", ".yml")):
            assert yaml.safe_load(text)


def test_library_of_the_project_has_no_mistakes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Code can be generated from the library file of the project, without warnings."""
    monkeypatch.chdir(tmp_path)
    assert main(["new", "library", "acme_ops"]) == 0
    assert main(["generate", "--library", "operators.yaml", "--torch", "auto", "--out", "build", "--strict"]) == 0


def test_backend_of_the_project_has_no_mistakes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Code can be generated from the backend file of the project, without warnings."""
    monkeypatch.chdir(tmp_path)
    assert main(["new", "backend", "npu"]) == 0
    assert main(["generate", "--backend", "npu.yaml", "--torch", "auto", "--out", "build", "--strict"]) == 0


def test_files_of_the_backend_are_those_of_the_example() -> None:
    """What the project shares with the example of a backend has the same text, but for names."""
    shared = dict(shared_files())
    assert shared == {path: path.read_text(encoding="utf-8") for path in shared}
    assert set(PROJECT.rglob("runtime/*")) <= shared.keys()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("My-Device", "`My-Device` is not a name for a device"),
        ("cuda", "a device cannot have the name `cuda`"),
        ("torch", "a device cannot have the name `torch`"),
        ("double", "`double` is a word of C++"),
    ],
)
def test_wrong_names_of_devices(tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, message: str) -> None:
    """A name that a device cannot have is a diagnostic, and nothing is written."""
    assert main(["new", "backend", name, str(tmp_path / "project")]) == 1
    assert f"error[E1207]: {message}" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("name", "message", "help"),
    [
        ("3d-ops", "`3d-ops` is not a name for a package", "write letters, digits and single underscores"),
        ("acme ops", "`acme ops` is not a name for a package", "write letters, digits and single underscores"),
        ("../acme", "`../acme` is not a name for a package", "write letters, digits and single underscores"),
        ("torch", "a package cannot have the name `torch`", "choose another name, such as `torch_ops`"),
        ("class", "a package cannot have the name `class`", "choose another name, such as `class_ops`"),
        ("double", "`double` is a word of C++", "choose another name, such as `double_ops`"),
    ],
)
def test_wrong_names(tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, message: str, help: str) -> None:
    """A name that a package or a namespace cannot have is a diagnostic, and nothing is written."""
    assert main(["new", "library", name, str(tmp_path / "project")]) == 1
    report = capsys.readouterr().err
    assert f"error[E1207]: {message}" in report
    assert f"help: {help}" in report
    assert not list(tmp_path.iterdir())


def test_folder_with_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A folder with files is left alone, unless `--force` is given; files of other names stay."""
    (tmp_path / ".git").mkdir()
    (tmp_path / "main.cpp").write_text("int main() {}")
    (tmp_path / "setup.py").write_text("old")
    assert main(["new", "library", "acme_ops", str(tmp_path)]) == 1
    assert "error[E1208]" in capsys.readouterr().err
    assert (tmp_path / "setup.py").read_text() == "old"
    assert main(["new", "library", "acme_ops", str(tmp_path), "--force"]) == 0
    assert "operator_library" in (tmp_path / "setup.py").read_text()
    assert (tmp_path / "main.cpp").read_text() == "int main() {}"


def test_repository_without_files(tmp_path: Path) -> None:
    """A new repository counts as empty, and a file is no folder."""
    (tmp_path / ".git").mkdir()
    assert main(["new", "library", "acme_ops", str(tmp_path)]) == 0
    assert main(["new", "library", "acme_ops", str(tmp_path / "setup.py")]) == 1
