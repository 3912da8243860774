"""What `opwright check` takes a file for, which tree it belongs to, and which files of a folder it checks."""

from __future__ import annotations

from pathlib import Path

import pytest

from opwright.dialects.table import (
    DEPRECATED,
    DERIVATIVES,
    NATIVE_AOT,
    NATIVE_FUNCTIONS,
    SHIM_TABLES,
    TAGS,
)
from opwright.libraries.rows import LIBRARY
from opwright.source.text import SourceFile
from opwright.tools.files.file_kinds import expand_folders, kind_of, owners_of, tree_around


@pytest.mark.parametrize(
    ("name", "text", "kind"),
    [
        ("a.yaml", "namespace: acme\noperators: []\n", "library"),
        ("a.yaml", "'namespace' : acme\n", "library"),
        ("a.yaml", "operators: []\nnamespace: acme\n", "library"),
        ("a.yaml", "namespace: acme\nbackend: PrivateUse1\n", "backend"),
        ("tags.yaml", "backend: PrivateUse1\n", "backend"),
        ("a.yaml", "- func: f() -> ()\n  namespace: acme\n", "native_functions"),
        ("tags.yaml", "- tag: core\n", "tags"),
        ("a.yaml", "namespace_of: acme\n", None),
        ("a.yaml", "", None),
    ],
)
def test_kind_of_a_file(name: str, text: str, kind: str | None) -> None:
    """The fields at the top of a file decide, wherever they stand; then its name, or the first field of an entry."""
    dialect = kind_of(SourceFile(name, text))
    assert (dialect and dialect.name) == kind


def write_tree(top: Path, aten: str, autograd: str) -> None:
    """Write the files by which a source tree, or the package of a generator, is known."""
    for name in ("native/native_functions.yaml", "native/tags.yaml"):
        path = top / aten / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    (top / autograd).mkdir(parents=True)
    for name in ("derivatives.yaml", "deprecated.yaml"):
        (top / autograd / name).touch()


SOURCE_TREE = ("aten/src/ATen", "tools/autograd")
PACKAGE = ("torchgen/packaged/ATen", "torchgen/packaged/autograd")


@pytest.mark.parametrize(("aten", "autograd"), [SOURCE_TREE, PACKAGE], ids=["source tree", "package"])
def test_tree_of_a_file(tmp_path: Path, aten: str, autograd: str) -> None:
    """The files of a tree belong to its ATen folder, if they have their names and stand in their places."""
    write_tree(tmp_path, aten, autograd)
    expected = str(tmp_path / aten)
    for path, dialect in (
        (f"{aten}/native/native_functions.yaml", NATIVE_FUNCTIONS),
        (f"{aten}/native/tags.yaml", TAGS),
        (f"{autograd}/derivatives.yaml", DERIVATIVES),
        (f"{autograd}/deprecated.yaml", DEPRECATED),
        ("torchgen/native_aot/add/aot.py", NATIVE_AOT),
        ("a/b/c/d/e/aot.py", NATIVE_AOT),
        (f"torchgen/aoti/{SHIM_TABLES.inputs[0].rpartition('/')[2]}", SHIM_TABLES),
    ):
        assert tree_around(str(tmp_path / path), dialect) == expected, path
    for path, dialect in (
        (f"{aten}/native/functions.yaml", NATIVE_FUNCTIONS),
        (f"{aten}/native/tags.yaml", NATIVE_FUNCTIONS),
        (f"{aten}/other/native_functions.yaml", NATIVE_FUNCTIONS),
        (f"{aten}/native_functions.yaml", NATIVE_FUNCTIONS),
        ("other/derivatives.yaml", DERIVATIVES),
        ("a/b/c/d/e/f/aot.py", NATIVE_AOT),
    ):
        assert tree_around(str(tmp_path / path), dialect) is None, path
    assert tree_around(str(tmp_path / aten / "native" / "acme.yaml"), LIBRARY) is None
    (tmp_path / aten / "native" / "tags.yaml").unlink()
    assert tree_around(str(tmp_path / aten / "native" / "native_functions.yaml"), NATIVE_FUNCTIONS) is None
    assert tree_around(str(tmp_path / autograd / "derivatives.yaml"), DERIVATIVES) == expected


def test_a_relative_path_has_a_tree_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the folder of the file itself, a name is enough."""
    write_tree(tmp_path, *SOURCE_TREE)
    monkeypatch.chdir(tmp_path / SOURCE_TREE[0] / "native")
    assert tree_around("native_functions.yaml", NATIVE_FUNCTIONS) == ".."
    monkeypatch.chdir(tmp_path / SOURCE_TREE[1])
    assert tree_around("derivatives.yaml", DERIVATIVES) == "../../aten/src/ATen"


def test_files_of_a_folder(tmp_path: Path) -> None:
    """A folder stands for its YAML files of a known kind, in order; what is named itself is never left out."""
    library = "namespace: acme\noperators: []\n"
    texts = {
        "b.yml": library,
        "a.yaml": library,
        "other.yaml": "jobs: {}\n",
        "a.txt": library,
        "inner/c.yaml": library,
        ".hidden/d.yaml": library,
        "bad.yaml": "\x00",
        "e.yaml.bak": library,
    }
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "folder.yaml").mkdir()
    (tmp_path / "none.yaml").symlink_to("nowhere")
    named = str(tmp_path / "other.yaml")
    found = list(expand_folders([named, f"{tmp_path}/", f"{tmp_path}/missing.yaml"]))
    assert found == [named, *[str(tmp_path / name) for name in ("a.yaml", "b.yml", "inner/c.yaml")], found[-1]]
    assert found[-1] == f"{tmp_path}/missing.yaml"


def test_owners_of_derivatives(tmp_path: Path) -> None:
    """A file with derivatives belongs to the files beside it whose head names it."""
    texts = {
        "acme.yaml": "namespace: acme\nderivatives: grads.yaml\n",
        "backend.yml": "backend: PrivateUse1\n'derivatives' : [more.yaml, grads.yaml]\n",
        "entry.yaml": "namespace: acme\noperators:\n- {func: f() -> (), derivatives: grads.yaml}\n",
        "grads.yaml": "- name: f() -> ()\nderivatives: grads.yaml\n",
        "notes.txt": "namespace: acme\nderivatives: grads.yaml\n",
        "other.yaml": "namespace: acme\nderivatives: more.yaml\n",
        "unknown.yaml": "derivatives: grads.yaml\n",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    owners = owners_of(SourceFile(str(tmp_path / "grads.yaml"), texts["grads.yaml"]))
    assert owners == [str(tmp_path / name) for name in ("acme.yaml", "backend.yml")]
