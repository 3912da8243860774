"""What the system refuses is told without a traceback, and odd paths are paths."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from opwright.files.plain_files import make_folders

resource = pytest.importorskip("resource")

NOWHERE = ["--source-path", "nowhere"]
LEAST = ["opwright", "generate", "--only", "declarations_yaml", "--out"]


def run(
    *words: object, stderr: int = subprocess.PIPE, limit: Callable[[], None] | None = None
) -> subprocess.CompletedProcess[str]:
    """A program of the package with its arguments, under limits that it sets itself."""
    command = [sys.executable, "-m", *map(str, words)]
    return subprocess.run(
        command, stdout=subprocess.PIPE, stderr=stderr, text=True, errors="replace", preexec_fn=limit, check=False
    )


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
@pytest.mark.parametrize(
    ("words", "status"),
    [
        (["opwright", "generate", *NOWHERE, "--out", "x"], 1),
        (["opwright", "genrate"], 2),
        (["opwright", "explain", "E9999"], 2),
        (["opwright.torchgen.gen", *NOWHERE], 1),
        (["opwright.torchgen.gen", "--nope"], 2),
    ],
)
def test_a_full_disk_behind_the_diagnostics(words: list[str], status: int) -> None:
    """Where standard error takes nothing, the exit status still tells what happened."""
    with open("/dev/full", "w") as full:
        assert run(*words, stderr=full.fileno()).returncode == status


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["a/" * 2500, "a" * 5000])
def test_an_output_path_that_is_too_long(tmp_path: Path, name: str) -> None:
    """The system's word on it is a fault, and no part of the path is made."""
    done = run(*LEAST, f"{tmp_path}/{name}")
    assert done.returncode == 1
    assert done.stderr.startswith(f"error[E0608]: cannot write `{tmp_path}/a")
    assert not list(tmp_path.iterdir())


def test_a_path_of_many_parts(tmp_path: Path) -> None:
    """There may be more folders, one in the other, than functions that call each other."""
    path = f"{tmp_path}/top{'/a' * 1100}"
    make_folders(path)
    make_folders(path)
    assert os.path.isdir(path)
    # What removes the test's folder would need a function for each.
    os.removedirs(path)


@pytest.mark.thorough
@pytest.mark.skipif(sys.platform != "linux", reason="paths are bytes on Linux only")
def test_a_path_that_is_no_text(tmp_path: Path) -> None:
    """All that a run writes can be below a path that has no UTF-8 form."""
    out = tmp_path / os.fsdecode(b"\xff")
    lists = ["--depfile", out / "made.d", "--provenance", out / "made.json", "--stamp", out / "stamp"]
    for _ in range(2):
        done = run(*LEAST, out, *lists)
        assert done.returncode == 0, done.stderr
    made = out / "aten/src/ATen/Declarations.yaml"
    assert os.fsencode(out / "stamp") in (out / "made.d").read_bytes()
    assert "Declarations" in run("opwright", "where", f"{made}:100", "--provenance", out / "made.json").stdout


@pytest.mark.thorough
@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not keep to the limits")
@pytest.mark.parametrize("files", [9, 64])
def test_few_open_files(tmp_path: Path, files: int) -> None:
    """A run holds few files open at once."""
    done = run(*LEAST, tmp_path, limit=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (files, files)))
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.thorough
@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not keep to the limits")
@pytest.mark.parametrize("megabytes", [40, 60, 80])
def test_little_memory(tmp_path: Path, megabytes: int) -> None:
    """Too little memory is a fault in one line, and leaves nothing; with enough of it the files are made."""
    limits = (megabytes << 20, megabytes << 20)
    done = run(*LEAST, tmp_path, limit=lambda: resource.setrlimit(resource.RLIMIT_AS, limits))
    outputs = [path for path in tmp_path.rglob("*") if path.is_file() and ".opwright" not in path.parts]
    if done.returncode:
        assert (done.returncode, done.stderr.count("\n"), outputs) == (1, 1, []), done.stderr
        assert "memory" in done.stderr
    else:
        assert (len(outputs), done.stderr) == (1, "")
