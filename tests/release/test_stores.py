"""Inputs that take the declarations of ahead-of-time compiled kernels from a folder, and all else from elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from opwright.release.store import NATIVE_AOT, AotFolder, FolderStore
from tests.release.fake_torch import write_source_tree

DECLARATION = "# declares a kernel\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with two declarations, and with other things."""
    for name in ("mul/aot.py", "add/aot.py", "add/other.py", "aot.py", "empty/notes.txt"):
        path = tmp_path / "kernels" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{DECLARATION}{name}\n", encoding="utf-8")
    return tmp_path / "kernels"


def tree_store(top: Path) -> FolderStore:
    """The store of a source tree."""
    write_source_tree(top, "2.15.0a0")
    return FolderStore(str(top / "aten" / "src" / "ATen"), str(top / "tools" / "autograd"), str(top))


def test_declarations_come_from_the_folder(tmp_path: Path, folder: Path) -> None:
    """The folder's declarations replace those of the tree, and nothing else of the tree changes."""
    store = tree_store(tmp_path / "tree")
    stores = [AotFolder(store, str(folder)), AotFolder(store, "")]
    others = [name for name in store.names() if not name.startswith(NATIVE_AOT)]
    declared = [f"{NATIVE_AOT}{name}/aot.py" for name in ("add", "mul")]
    assert [sorted(own.names()) for own in stores] == [sorted([*others, *declared]), others]
    assert list(stores[0].names()) == sorted(stores[0].names())
    for name in declared:
        place = name.removeprefix(NATIVE_AOT)
        assert stores[0].display_path(name) == str(folder / place)
        assert stores[0].read_text(name).text == f"{DECLARATION}{place}\n"
        assert stores[0].read_bytes(name) == f"{DECLARATION}{place}\n".encode()
    for name in others:
        assert stores[0].display_path(name) == store.display_path(name)
        assert stores[0].read_text(name).text == store.read_text(name).text
        assert stores[0].read_bytes(name) == store.read_bytes(name)
    assert stores[0].member_names("version") == store.member_names("version")
    assert stores[0].read_members(["version.txt"]) == store.read_members(["version.txt"])


def test_a_run_depends_on_the_declarations_that_may_come(tmp_path: Path, folder: Path) -> None:
    """The folder itself is a dependency, and so is each file that may be in one of its folders."""
    store = tree_store(tmp_path / "tree")
    paths, own = store.paths(), AotFolder(store, str(folder)).paths()
    assert paths is not None
    assert own is not None
    possible = [str(folder / name / "aot.py") for name in ("add", "aot.py", "empty", "mul")]
    assert (own.files, own.folders) == ((*paths.files, *possible), (*paths.folders, str(folder)))
    assert AotFolder(store, "").paths() == paths
