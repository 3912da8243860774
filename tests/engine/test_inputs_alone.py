"""Bytes depend on the inputs alone, and no file of a tree runs."""

from __future__ import annotations

import os
import runpy
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from opwright.release.local import from_installed
from opwright.release.version import parse_version

#: Its word appears when it runs, and not where its text is quoted.
POISON = "\nraise SystemExit('POI' + 'SON ' + __name__)\n"


def run(folder: Path, *words: str, **variables: str) -> str:
    """What the program prints in a folder."""
    command = [sys.executable, "-c", "from opwright.cli.main import program; program()", *words]
    environment = {**os.environ, **variables}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def contents(folder: Path) -> dict[str, bytes]:
    """The files below a folder, without the state of runs."""
    paths = [path for path in folder.rglob("*") if path.is_file() and ".opwright" not in path.parts]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def test_bytes_depend_on_inputs_alone(tmp_path: Path) -> None:
    """Runs in two folders, with two hash seeds and numbers of processes, write the same bytes."""
    library = Path(__file__).parents[2] / "examples" / "library"
    made = []
    for name, seed, jobs in (("one", "1", "1"), ("another/deeper", "2", "2")):
        folder = tmp_path / name
        shutil.copytree(library, folder)
        words = ["generate", "--library", "acme.yaml", "--out", "out", "--jobs", jobs]
        run(folder, *words, PYTHONHASHSEED=seed)
        words = ["generate", "--torch", "auto", "--only", "headers", "--out", "aten", "--jobs", jobs]
        run(folder, *words, PYTHONHASHSEED=seed)
        made.append({**contents(folder / "out"), **contents(folder / "aten")})
    assert len(made[0]) > 1000
    assert made[0] == made[1]


@pytest.mark.thorough
def test_headers_load_no_code_of_wrappers(tmp_path: Path) -> None:
    """A run for headers imports no module of wrappers and functionalization, which one for sources imports."""
    program = "from opwright.cli.main import main; import sys; main(sys.argv[1:]); print('\\nLOADED', *sys.modules)"
    loaded = {}
    for family in ("headers", "sources"):
        words = ["generate", "--torch", "auto", "--only", family, "--out", family, "--jobs", "1"]
        command = [sys.executable, "-c", program, *words]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
        names = done.stdout.partition("\nLOADED ")[2].split()
        loaded[family] = {name for name in names if name.startswith("opwright.emit.aten.")}
    of_sources = {f"opwright.emit.aten.{name}" for name in ("register.wrapper", "functionalization")}
    assert of_sources <= loaded["sources"]
    assert of_sources & loaded["headers"] == set()


def poisoned_tree(folder: Path) -> Path:
    """A source tree with the files of the installed PyTorch, whose modules would end each program that runs them."""
    spec = find_spec("torchgen")
    assert spec is not None
    assert spec.origin is not None
    torchgen = Path(spec.origin).parent
    for source, place in (
        ("packaged/ATen", "aten/src/ATen"),
        ("packaged/autograd", "tools/autograd"),
        (".", "torchgen"),
    ):
        shutil.copytree(torchgen / source, folder / place, ignore=shutil.ignore_patterns("__pycache__", "packaged"))
    version = parse_version(str(from_installed().version_text))
    (folder / "version.txt").write_text(f"{version}a0\n", encoding="utf-8")
    for path in folder.rglob("*.py"):
        path.write_text(path.read_text(encoding="utf-8") + POISON, encoding="utf-8")
    return folder


@pytest.mark.thorough
def test_no_file_of_a_tree_runs(tmp_path: Path) -> None:
    """Tables of C shims and the generator of a tree are read, as the dependencies say, and none of them runs."""
    tree = poisoned_tree(tmp_path / "tree")
    with pytest.raises(SystemExit, match="POISON"):
        runpy.run_path(str(tree / "torchgen/aoti/fallback_ops.py"))
    words = ["--source-path", str(tree / "aten/src/ATen"), "--out", "out", "--depfile", "d"]
    printed = run(tree, "generate", *words, "--tolerate-generator-edits")
    assert "POISON" not in printed
    read = (tree / "d").read_text(encoding="utf-8")
    assert [name for name in ("torchgen/aoti/fallback_ops.py", "torchgen/gen.py") if name not in read] == []
