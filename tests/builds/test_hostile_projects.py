"""Builds of projects whose names mean something in the languages of build systems."""

from __future__ import annotations

import ast
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from opwright.cli.main import main
from tests.builds.actions.bazel import OPTIONS, Workspace, is_installed
from tests.builds.actions.sandbox import opwright
from tests.builds.actions.test_ninja_and_meson import ENVIRONMENT, PATH

#: Names of files that builds take.
TAKEN = (
    "$ENV{HOME}.yaml",
    "$(touch PWNED).yaml",
    "#hash.yaml",
    "@OUTPUT@.yaml",
    "per%cent: $$x.yaml",
    "]] b.yaml",
)
#: Names that no build can depend on.
REFUSED = (
    "a'b.yaml",
    'a"b.yaml',
    "$<1:gen>.yaml",
    "`touch PWNED`.yaml",
    "a;b.yaml",
    "|x&y.yaml",
    "a\\b.yaml",
    '")\nexecute_process(COMMAND touch PWNED)\n#.yaml',
)
CMAKE = """\
cmake_minimum_required(VERSION 3.21)
project(hostile LANGUAGES NONE)
find_package(Opwright REQUIRED)
opwright_generate(gen OUT ${{CMAKE_BINARY_DIR}}/gen OPTIONS {words} OUTPUTS outputs)
"""
NINJA = "opwright = {python} -m opwright\nopwright_out = gen\nopwright_torch = {torch}\ninclude operators.ninja\n"
BAZEL = """\
load("@opwright_rules//:opwright.bzl", "opwright_library")
load(":ops.bzl", "ACTIONS")
opwright_library(name = "lib", srcs = [], actions = ACTIONS)
"""
MESON = """\
project('hostile')
opwright = [find_program({python!r}), '-m', 'opwright']
opwright_torch = {torch!r}
subdir('operators')
alias_target('everything', opwright_targets)
"""


def _write(folder: Path, names: tuple[str, ...]) -> list[str]:
    """Library files whose heads name files so; the options that name the libraries."""
    words = []
    for number, name in enumerate(names):
        (folder / name).write_text(f"- name: f{number}(Tensor x) -> Tensor\n  x: grad\n")
        entry = f"- func: f{number}(Tensor x) -> Tensor\n  dispatch:\n    Meta, CPU: f{number}\n"
        head = f"namespace: n{number}\nderivatives: {json.dumps(name)}\n"
        (folder / f"l{number}.yaml").write_text(f"{head}operators:\n{entry}")
        words += ["--library", f"l{number}.yaml"]
    return words


def _run(folder: Path, *words: object) -> str:
    done = subprocess.run([*map(str, words)], cwd=folder, env=ENVIRONMENT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def _build_twice(folder: Path, *words: object) -> None:
    """Build, and see that nothing is left to do, and that no text of a name ran."""
    _run(folder, *words)
    assert "no work to do" in _run(folder, *words)
    assert not list(folder.rglob("PWNED"))


@pytest.mark.thorough
@pytest.mark.skipif(shutil.which("cmake", path=PATH) is None, reason="there is no CMake")
@pytest.mark.skipif(shutil.which("ninja", path=PATH) is None, reason="there is no Ninja")
def test_cmake(tmp_path: Path) -> None:
    """CMake lists, builds and depends on files whose names are CMake's syntax."""
    (tmp_path / "CMakeLists.txt").write_text(CMAKE.format(words=" ".join(_write(tmp_path, TAKEN))))
    package = opwright("--cmake-dir", cwd=tmp_path).strip()
    _run(tmp_path, "cmake", "-G", "Ninja", "-S", ".", "-B", "build", f"-DOpwright_DIR={package}")
    _build_twice(tmp_path / "build", "ninja", "-v")
    assert len(list(tmp_path.glob("build/gen/src/*/*.cpp"))) == len(TAKEN)


@pytest.mark.parametrize("name", REFUSED)
def test_names_that_no_build_can_depend_on(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """CMake gets a diagnostic when it configures, and no list that it would misread."""
    words = _write(tmp_path, (name,))
    monkeypatch.chdir(tmp_path)
    assert main(["generate", *words, "--out", "gen", "--list-outputs=cmake"]) == 1
    printed = capsys.readouterr()
    assert "error[E0612]" in printed.err
    assert not printed.out


@pytest.mark.parametrize("name", [*TAKEN, *REFUSED])
def test_descriptions_for_bazel_are_data(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Starlark reads a name as one string, in a file where nothing is called but `struct`."""
    words = _write(tmp_path, (name,))
    monkeypatch.chdir(tmp_path)
    assert main(["generate", *words, "--out", "gen", "--describe", "bazel"]) == 0
    text = capsys.readouterr().out
    called = {ast.unparse(node.func) for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)}
    assert called == {"struct"}
    read: dict[str, Any] = {"struct": dict, "__builtins__": {}}
    exec(text, read)
    (action,) = read["ACTIONS"]
    assert set(action["srcs"]) == {"l0.yaml", name}


@pytest.mark.thorough
@pytest.mark.skipif(not is_installed(), reason="Debian's Bazel is not installed")
def test_bazel(tmp_path: Path) -> None:
    """Bazel builds with names that labels can have and refuses the others, and runs no text of a name."""
    workspace = Workspace(tmp_path / "example", tmp_path / "root")
    names = (*TAKEN, *REFUSED, "$(location l0.yaml).yaml", "a:b.yaml")
    for number, name in enumerate(names):
        package = workspace.folder / f"p{number}"
        package.mkdir()
        words = _write(package, (name,))
        described = ("--describe", "bazel", "--describe-to", "ops.bzl")
        opwright("generate", *words, "--out", "gen", *described, cwd=package)
        (package / "BUILD.bazel").write_text(BAZEL)
    targets = [f"//p{number}:lib_code" for number in range(len(names))]
    try:
        workspace.bazel("build", *OPTIONS, "--jobs=2", "--keep_going", *targets)
    finally:
        workspace.bazel("shutdown")
    built = {
        name for number, name in enumerate(names) if [*workspace.folder.glob(f"bazel-bin/p{number}/**/register_0.cpp")]
    }
    assert built == {name for name in names if not name.startswith("@") and not {":", "\\", "\n"} & {*name}}
    assert len(built) == 10
    assert not [*workspace.folder.rglob("PWNED")]


@pytest.mark.thorough
@pytest.mark.skipif(shutil.which("meson", path=PATH) is None, reason="there is no Meson")
@pytest.mark.skipif(shutil.which("ninja", path=PATH) is None, reason="there is no Ninja")
def test_ninja_and_meson(tmp_path: Path, reference_inputs: Path) -> None:
    """Descriptions for Ninja and Meson quote the same names, and both programs build from them."""
    words = _write(tmp_path, TAKEN)
    options = {"python": sys.executable, "torch": str(reference_inputs.parents[2])}
    for form, target in (("ninja", "operators.ninja"), ("meson", "operators")):
        opwright("generate", *words, "--out", "gen", "--describe", form, "--describe-to", target, cwd=tmp_path)
    (tmp_path / "build.ninja").write_text(NINJA.format(**options))
    _build_twice(tmp_path, "ninja", "-v")
    (tmp_path / "meson.build").write_text(MESON.format(**options))
    _run(tmp_path, "meson", "setup", "build")
    _build_twice(tmp_path / "build", "ninja", "-v", "all", "everything")
