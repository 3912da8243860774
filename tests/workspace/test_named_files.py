"""The heads of files name only files of their projects, unless the user allows others."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException

from opwright.cli.main import main
from tests.tools.lsp.session import Start, editor

SECRET = "- a secret of the user\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """The folder of a project below one with a secret file."""
    (tmp_path / "secret.yaml").write_text(SECRET)
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


def library(folder: Path, derivatives: str) -> str:
    """The path of a library file whose head names a file."""
    path = folder / "acme.yaml"
    path.write_text(
        f'namespace: acme\nderivatives: "{derivatives}"\noperators:\n'
        "- func: scale(Tensor self) -> Tensor\n  dispatch: {CPU: scale}\n  outputs: like(self)\n"
    )
    return str(path)


def backend(folder: Path, field: str, named: str) -> str:
    """The path of a backend file whose head names a file."""
    path = folder / "backend.yaml"
    path.write_text(
        f'backend: PrivateUse1\ncpp_namespace: acme\n{field}: "{named}"\nnamespace: acme\noperators:\n'
        "- func: scale(Tensor self) -> Tensor\n  outputs: like(self)\n"
    )
    return str(path)


def said(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """What a command prints."""
    main(list(words))
    captured = capsys.readouterr()
    return captured.out + captured.err


COMMANDS = [
    ("check", "FILE"),
    ("check", "--library", "FILE"),
    ("generate", "--library", "FILE", "--out", "OUT"),
    ("generate", "--library", "FILE", "--out", "OUT", "--dry-run"),
    ("explain", "scale", "--library", "FILE"),
    ("dump", "--library", "FILE"),
    ("diff", "FILE", "FILE"),
]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
@pytest.mark.parametrize("named", ["ABSOLUTE", "../secret.yaml", "link.yaml"])
def test_files_outside_are_not_shown(
    project: Path, capsys: pytest.CaptureFixture[str], command: tuple[str, ...], named: str
) -> None:
    """No command shows a line of a file that is outside, by whatever path, and each names the flag that allows it."""
    secret = project.parent / "secret.yaml"
    (project / "link.yaml").symlink_to(secret)
    path = library(project, str(secret) if named == "ABSOLUTE" else named)
    places = {"FILE": path, "OUT": str(project / "out")}
    words = [places.get(word, word) for word in command]
    text = said(capsys, *words)
    assert "E0005" in text
    assert f"--allow-path {secret}" in text
    assert SECRET.strip() not in text
    allowed = said(capsys, *words, "--allow-path", str(secret))
    assert "E0005" not in allowed
    assert SECRET.strip() in allowed


@pytest.mark.thorough
@pytest.mark.parametrize("field", ["derivatives", "library"])
def test_heads_of_backends_name_no_files_outside(project: Path, capsys: pytest.CaptureFixture[str], field: str) -> None:
    """Both fields of a backend file that name files are checked."""
    path = backend(project, field, "../secret.yaml")
    for command in (("check", path), ("generate", "--backend", path, "--out", str(project / "out"))):
        text = said(capsys, *command)
        assert "E0005" in text
        assert SECRET.strip() not in text


def test_a_project_is_the_folder_with_its_project_file(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Files beside a `pyproject.toml` are of the project of a head in a folder below it."""
    (project.parent / "pyproject.toml").write_text("")
    assert "E0005" not in said(capsys, "check", library(project, "../secret.yaml"))


def test_files_that_are_linked_one_by_one_are_of_their_project(
    project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A sandbox of a build system has links to the files of a project."""
    library(project, "formulas/derivatives.yaml")
    (project / "formulas").mkdir()
    (project / "formulas" / "derivatives.yaml").write_text("- name: scale(Tensor self) -> Tensor\n  self: grad\n")
    sandbox = tmp_path / "sandbox"
    (sandbox / "formulas").mkdir(parents=True)
    for name in ("acme.yaml", "formulas/derivatives.yaml"):
        (sandbox / name).symlink_to(project / name)
    assert "no findings" in said(capsys, "check", str(sandbox / "acme.yaml"))


def test_arguments_of_check_are_allowed(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A file that the user names may be named by a head."""
    path = library(project, "../secret.yaml")
    assert "E0005" not in said(capsys, "check", path, str(project.parent / "secret.yaml"))


@pytest.mark.parametrize("named", ["a\\0b.yaml", "\\U0010ffff\\x01.yaml"])
def test_texts_that_are_no_paths_are_reported(project: Path, capsys: pytest.CaptureFixture[str], named: str) -> None:
    """A NUL or another control character in a path is a diagnostic at its place."""
    path = library(project, named)
    for command in (("check", path), ("generate", "--library", path, "--out", str(project / "out"))):
        assert "error[E1180]" in said(capsys, *command)


def test_a_run_without_the_permission_is_not_up_to_date(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What one run allows, the next one into the same folder does not."""
    (project.parent / "secret.yaml").write_text("- name: scale(Tensor self) -> Tensor\n  self: grad\n")
    words = ("generate", "--library", library(project, "../secret.yaml"), "--out", str(project / "out"))
    assert "E0005" not in said(capsys, *words, "--allow-path", str(project.parent))
    assert "E0005" in said(capsys, *words)


@pytest.mark.thorough
def test_an_editor_may_allow_files_outside(project: Path) -> None:
    """`opwright lsp --allow-path` allows what `opwright check --allow-path` does, in checks and in renames."""
    formulas = project.parent / "derivatives.yaml"
    formulas.write_text("- name: scale(Tensor self) -> Tensor\n  self: grad\n")
    path = Path(library(project, "../derivatives.yaml"))

    async def session(*words: str) -> tuple[set[object], bool]:
        async with editor(project, Start(("lsp", *words))) as own:
            uri = await own.open(path)
            document, position = own.at(uri, "(Tensor self", "self")
            params = lsp.RenameParams(document, position, "source")
            try:
                edit = await own.client.text_document_rename_async(params)
            except JsonRpcException:
                edit = None
            return {row.code for row in own.client.diagnostics[uri]}, edit is not None

    def outcome(*words: str) -> tuple[set[object], bool]:
        return asyncio.run(asyncio.wait_for(session(*words), 120))

    assert outcome() == ({"E0005"}, False)
    assert outcome("--allow-path", str(formulas)) == (set(), True)
