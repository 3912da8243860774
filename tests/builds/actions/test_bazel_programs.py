"""The programs beside the rules for Bazel: stubs of libraries for the linker, and packages as bytecode."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from opwright.builds.actions.description import PACKAGES
from tests.builds.actions.bazel import EXAMPLE, RULES
from tests.compile.compiler import compiler_program

STUB = RULES / "stub_library.py"
COMPILE = RULES / "compile_packages.py"

LIBRARY = """
int counter = 3;
extern "C" int present() { return counter; }
__attribute__((visibility("hidden"))) int hidden() { return 5; }
__attribute__((weak)) int weak() { return hidden(); }
thread_local int local = 4;
int big[100000];
"""

USER = """
extern "C" int present();
int weak();
extern int counter;
extern thread_local int local;
int used() { return present() + weak() + counter + local; }
"""


@pytest.mark.skipif(sys.platform != "linux" or compiler_program() is None, reason="there is no compiler for Linux")
def test_linked_with_a_stub(tmp_path: Path) -> None:
    """What is linked with a stub is what is linked with the library; the linker still finds what is missing."""
    folders = {name: tmp_path / name for name in ("real", "stub")}
    for folder in folders.values():
        folder.mkdir()
    (tmp_path / "library.cpp").write_text(LIBRARY)
    (tmp_path / "user.cpp").write_text(USER)
    compiler = str(compiler_program())

    def build(*words: object) -> subprocess.CompletedProcess[str]:
        command = [compiler, "-shared", "-fPIC", *map(str, words)]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    library = folders["real"] / "libacme.so"
    assert build("library.cpp", "-Wl,-soname,libacme.so.1", "-o", library).returncode == 0
    subprocess.run([sys.executable, STUB, library, folders["stub"] / "libacme.so"], check=True)
    linked = []
    for folder in folders.values():
        done = build("user.cpp", f"-L{folder}", "-lacme", "-Wl,--no-undefined", "-o", "user.so")
        assert done.returncode == 0, done.stderr
        linked.append((tmp_path / "user.so").read_bytes())
    assert b"libacme.so.1" in linked[1]
    assert linked[0] == linked[1]
    (tmp_path / "user.cpp").write_text(f"{USER}\nint hidden();\nint more() {{ return hidden(); }}\n")
    done = build("user.cpp", f"-L{folders['stub']}", "-lacme", "-Wl,--no-undefined", "-o", "user.so")
    assert done.returncode != 0
    assert "hidden()" in done.stderr


def test_no_stub_of_other_files(tmp_path: Path) -> None:
    """A file that is no library is refused with one sentence."""
    path = tmp_path / "libacme.so"
    path.write_text("INPUT(-lother)\n")
    done = subprocess.run([sys.executable, STUB, path, tmp_path / "stub"], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == f"{str(path)!r}: it is no ELF file of 64 bits with the little end first\n"
    assert not (tmp_path / "stub").exists()


@pytest.mark.thorough
def test_packages_as_bytecode(tmp_path: Path, reference_inputs: Path) -> None:
    """The packages run without their sources, and are the same bytes each time that they are compiled."""
    rows = []
    for package in PACKAGES:
        found = subprocess.run(
            [sys.executable, "-c", f"import {package}; print({package}.__path__[0])"],
            capture_output=True,
            text=True,
            check=True,
        )
        top = Path(found.stdout.strip())
        paths = [path for path in top.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
        rows += [f"{path}\t{package}/{path.relative_to(top).as_posix()}\n" for path in paths]
    (tmp_path / "list").write_text("".join(rows))
    made = []
    for name in ("one", "two"):
        command: list[str | Path] = [sys.executable, "-I", "-S", "-B", COMPILE, tmp_path / name, tmp_path / "list"]
        subprocess.run(command, check=True, capture_output=True)
        made.append({path.relative_to(tmp_path / name): path for path in (tmp_path / name).rglob("*.pyc")})
    assert made[0].keys() == made[1].keys()
    if sys.version_info >= (3, 11):  # Python 3.10 writes sets in the order of hashes.
        assert [place for place, path in made[0].items() if path.read_bytes() != made[1][place].read_bytes()] == []
    assert not [*(tmp_path / "one/opwright").rglob("main.py")]
    shutil.copy(EXAMPLE / "operators.yaml", tmp_path)
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path / 'one')!r}); from opwright.cli.main import program; program()"
    )
    words = ["generate", "--library", "operators.yaml", "--source-path", str(reference_inputs), "--hermetic", "--out"]
    bare = [sys.executable, "-I", "-S", "-B", "-c", code, *words]
    subprocess.run([*bare, "gen"], cwd=tmp_path, env={}, check=True)
    environment = {**os.environ, "PYTHONPATH": str(Path(RULES).parents[1])}
    plain = [sys.executable, "-m", "opwright", *words, "plain"]
    subprocess.run(plain, cwd=tmp_path, env=environment, check=True)
    ours, theirs = (
        {
            path.relative_to(tmp_path / name): path.read_bytes()
            for path in (tmp_path / name).rglob("*.*")
            if path.is_file()
        }
        for name in ("gen", "plain")
    )
    assert ours == theirs
