"""What Opwright does with files is the same where Python lacks functions of Linux: other systems are simulated."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from opwright.release.inputs import open_inputs
from tests.files.other_systems import SYSTEMS

ROOT = Path(__file__).resolve().parents[2]
LIBRARY = """namespace: acme
operators:
- func: scale(Tensor self) -> Tensor
  variants: function
  dispatch: {CPU: scale_cpu, Meta: scale_meta}
"""


def program(system: str, *arguments: object) -> list[str]:
    """The command line of Opwright on a system; the name `linux` stands for this one."""
    module = ["opwright"] if system == "linux" else ["tests.files.other_systems", system]
    return [sys.executable, "-m", *module, *map(str, arguments)]


#: The variables of runs that find the tests.
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}


def run(system: str, folder: Path, *arguments: object) -> str:
    """What a command prints that succeeds."""
    done = subprocess.run(
        program(system, *arguments), cwd=folder, env=ENVIRONMENT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def contents(folder: Path) -> dict[str, bytes]:
    """The files below a folder, without those of Opwright's state."""
    files = [path for path in folder.rglob("*") if path.is_file() and ".opwright" not in path.parts]
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


@pytest.mark.parametrize(
    "system", [pytest.param(system, marks=pytest.mark.thorough if system == "macos" else ()) for system in SYSTEMS]
)
def test_runs_write_the_bytes_of_linux(system: str, tmp_path: Path) -> None:
    """A first run, one without changes, one after an edit and one that drops a file do what they do here."""
    library = tmp_path / "acme.yaml"
    for name in ("linux", system):
        library.write_text(LIBRARY)
        arguments = ("generate", "--library", library, "--out", name)
        assert " 7 written, 0 unchanged" in run(name, tmp_path, *arguments)
        assert " 0 written, 7 unchanged" in run(name, tmp_path, *arguments)
        library.write_text(LIBRARY.replace("scale_cpu", "scale_on_cpu"))
        assert " 0 written," not in run(name, tmp_path, *arguments)
        library.write_text(LIBRARY.replace("acme", "other"))
        run(name, tmp_path, *arguments)
    assert contents(tmp_path / system) == contents(tmp_path / "linux")
    assert {name for name in contents(tmp_path / system) if "acme" in name} == set()


@pytest.mark.thorough
@pytest.mark.parametrize("system", SYSTEMS)
def test_files_of_the_user_keep_their_line_ends(system: str, tmp_path: Path) -> None:
    """A fix changes its place alone, in a file with the line ends of either system."""
    for name, text in (("linux.yaml", LIBRARY), ("windows.yaml", LIBRARY.replace("\n", "\r\n"))):
        path = tmp_path / name
        path.write_bytes(text.encode())
        run(system, tmp_path, "check", "--fix", name)
        kept = text.replace("  variants: function\n", "").replace("  variants: function\r\n", "")
        assert path.read_bytes() == kept.encode()


@pytest.mark.parametrize("system", SYSTEMS)
def test_new_projects_are_those_of_linux(system: str, tmp_path: Path) -> None:
    """The files of a project are the same wherever it is started."""
    for name in ("linux", system):
        run(name, tmp_path, "new", "library", "acme_ops", name)
    assert contents(tmp_path / system) == contents(tmp_path / "linux")


@pytest.mark.thorough
def test_runs_with_locks_of_windows_take_turns(tmp_path: Path) -> None:
    """Runs that start together into one folder end, and their files are whole."""
    (tmp_path / "acme.yaml").write_text(LIBRARY)
    command = program("windows", "generate", "--library", "acme.yaml", "--out", "out")
    runs = [subprocess.Popen(command, cwd=tmp_path, env=ENVIRONMENT, stderr=subprocess.DEVNULL) for _ in range(3)]
    assert [one.wait(60) for one in runs] == [0, 0, 0]
    run("linux", tmp_path, "generate", "--library", "acme.yaml", "--out", "alone")
    assert contents(tmp_path / "out") == contents(tmp_path / "alone")


@pytest.mark.thorough
def test_pytorch_is_generated_as_on_linux(tmp_path: Path) -> None:
    """All files of PyTorch on each system, and from inputs whose lines end as on Windows."""
    tree = tmp_path / "aten/src/ATen"
    inputs = open_inputs("auto")
    folders = {"autograd": tmp_path / "tools", "aoti": tmp_path / "torchgen"}
    for name in {*inputs.names(), "aoti/fallback_ops.py"}:
        path = folders.get(name.partition("/")[0], tree) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(inputs.read_text(name).text.replace("\n", "\r\n").encode())
    (tmp_path / "version.txt").write_text("2.13.0\n")
    run("linux", tmp_path, "generate", "--torch", "auto", "--out", "linux")
    for system in SYSTEMS:
        run(system, tmp_path, "generate", "--source-path", tree, "--out", system)
        assert compared(tmp_path / "linux", tmp_path / system) > 7_000
        shutil.rmtree(tmp_path / system)


def compared(left: Path, right: Path) -> int:
    """The number of equal files in two folders; fails where one differs or is missing."""
    names = contents(left)
    assert names == contents(right)
    return len(names)
