"""The folders of a project, and the file with its settings."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from opwright.workspace.project_files import files_below, find_project_file, folders_above, load_toml


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A folder with files of several kinds."""
    for name in ("b/two.yaml", "b/one.yml", "b/c.txt", "a/.hidden/x.yaml", "a/build/y.yaml", "a/z.yaml", "top.yaml"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    return tmp_path


def test_folders_above_end_at_the_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The nearest comes first; a relative path is that of the working folder."""
    assert list(folders_above(str(tmp_path))) == [str(tmp_path), *map(str, tmp_path.parents)]
    monkeypatch.chdir(tmp_path)
    assert next(folders_above("a")) == str(tmp_path / "a")
    assert list(folders_above("/")) == ["/"]


def test_files_below_are_those_with_the_endings(tree: Path) -> None:
    """Hidden folders and those that are named are left out, and so is the rest of a folder that has too many files."""
    every = ["top.yaml", "a/z.yaml", "a/build/y.yaml", "b/one.yml", "b/two.yaml"]

    def found(*endings: str, skipped: tuple[str, ...] = (), most: int | None = None) -> list[str]:
        return [os.path.relpath(path, tree) for path in files_below(str(tree), endings, skipped=skipped, most=most)]

    assert found(".yaml", ".yml") == every
    assert found(".yml") == ["b/one.yml"]
    assert found(".yaml", ".yml", skipped=("build",)) == [name for name in every if "build" not in name]
    assert [len(found(".yaml", ".yml", most=most)) for most in (0, 1, 2, 3, 5, 6)] == [0, 1, 2, 3, 3, 5]


def test_the_nearest_project_file_counts(tree: Path) -> None:
    """A folder of that name is no file."""
    (tree / "a" / "pyproject.toml").mkdir()
    (tree / "pyproject.toml").write_text("[tool.opwright]\n")
    assert find_project_file(str(tree / "a" / "build")) == str(tree / "pyproject.toml")
    (tree / "a" / "build" / "pyproject.toml").write_text("")
    assert find_project_file(str(tree / "a" / "build")) == str(tree / "a" / "build" / "pyproject.toml")
    assert find_project_file("/") is None


def test_mistakes_in_toml_have_their_place() -> None:
    """What is no TOML is an error that says where."""
    with pytest.raises(ValueError, match="line 2"):
        load_toml("a = 1\nb =\n")
