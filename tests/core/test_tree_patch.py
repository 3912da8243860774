"""The patch for PyTorch's tree in docs/core.md applies to a tree, and its build makes what PyTorch's makes."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import pytest

from tests.conformance.inputs import ROOT, source_tree
from tests.core.__main__ import contents, write_folder
from tests.core.closure import Closure
from tests.core.test_core import core

#: What `Codegen.cmake` of a build reads besides the inputs of the generator.
READ = ("caffe2/core/macros.h.in", "cmake/IncludeSource.cpp.in")
PROJECT = """\
cmake_minimum_required(VERSION 3.27)
project(Caffe2 NONE)
set(INTERN_BUILD_ATEN_OPS ON)
set(USE_PER_OPERATOR_HEADERS ON)
include(cmake/Codegen.cmake)
add_custom_target(all_generated ALL DEPENDS ATEN_CPU_FILES_GEN_TARGET ATEN_CUDA_FILES_GEN_TARGET)
"""


@pytest.fixture
def tree(pytorch_tree: Path, tmp_path: Path) -> Path:
    """The inputs of the installed PyTorch as a tree, with the build files of another tree, patched, and the core."""
    top = tmp_path / "pytorch"
    shutil.copytree(source_tree(), top, symlinks=True)
    write_folder(contents(Closure(["gen"])), top / "third_party" / "opwright-core")
    patch = (ROOT / "packaging/pytorch-tree.patch").read_text("utf-8")
    for name in [*READ, *re.findall(r"(?m)^\+\+\+ b/(.+)$", patch)]:
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(pytorch_tree / name, top / name)
    environment = {**os.environ, "GIT_CEILING_DIRECTORIES": str(tmp_path)}
    command = ["git", "apply", "--verbose", "-"]
    done = subprocess.run(command, cwd=top, env=environment, input=patch, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return top


#: The tools of the tests' own environment come first: PyTorch's files ask for a newer CMake than systems have.
PATH = os.pathsep.join((sysconfig.get_path("scripts"), os.environ.get("PATH", os.defpath)))


def lacks(tool: str) -> bool:
    """Whether there is no such program."""
    return shutil.which(tool, path=PATH) is None


@pytest.mark.skipif(lacks("cmake") or lacks("ninja"), reason="CMake or Ninja is not there")
@pytest.mark.network
def test_build_with_cmake(tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the switch the tree's generator makes the files; with it the core makes the same, and edits alone."""
    monkeypatch.setenv("PATH", PATH)
    monkeypatch.setenv("OPWRIGHT_CACHE_DIR", str(tmp_path / "cache"))
    (tree / "CMakeLists.txt").write_text(PROJECT)
    written = []
    for switch in ("OFF", "ON"):
        build = tmp_path / switch
        settings = [f"-DPython_EXECUTABLE={sys.executable}", f"-DUSE_OPWRIGHT={switch}"]
        run("cmake", "-G", "Ninja", "-S", tree, "-B", build, *settings)
        assert "Generating ATen" in run("ninja", "-C", build)
        assert "Generating ATen" not in run("ninja", "-C", build)
        aten = build / "aten/src/ATen"
        # CMake writes files of its own, which have the path of the build folder.
        files = [path for path in aten.rglob("*.*") if not path.name.endswith((".cmake", ".DEFAULT.cpp"))]
        assert len(files) > 3_000
        written.append({path.relative_to(aten).as_posix(): path.read_bytes() for path in files})
    assert written[0].keys() == written[1].keys()
    assert {name for name in written[0] if written[0][name] != written[1][name]} == set()
    native = tree / "aten/src/ATen/native/native_functions.yaml"
    native.write_text(native.read_text().replace("eps=1e-05", "eps=2e-05"))
    assert "Generating ATen" in run("ninja", "-C", build)
    assert any("2e-05" in path.read_text() for path in (build / "aten/src/ATen/ops").glob("*norm*.h"))


@pytest.mark.network
def test_rules_of_bazel(tree: Path) -> None:
    """The patched `build.bzl` calls the core if it is to, and PyTorch's generator otherwise."""
    text = (tree / "build.bzl").read_text()
    for switch, program in (("False", "//torchgen:gen"), ("True", "//third_party/opwright-core:opwright")):
        rules, names = MagicMock(), dict[str, Any](load=MagicMock())
        rules.glob.return_value, rules.is_cpu_static_dispatch_build.return_value = [], False
        names |= dict.fromkeys(re.findall(r'"(aten_ufunc_\w+)"', text), list)
        exec(text.replace("USE_OPWRIGHT = False", f"USE_OPWRIGHT = {switch}"), names)
        names["define_targets"](rules)
        made = {call.kwargs["name"]: call.kwargs for call in rules.genrule.call_args_list}
        for name in ("gen_aten", "gen_aten_hip"):
            assert made[name]["tools"] == [program]
            command = " ".join(made[name]["cmd"].split())
            assert (
                f"$(execpath {program}) {'gen --strict --inputs-only ' if switch == 'True' else ''}--install_dir="
                in command
            )
            assert ("//torchgen" in made[name]["srcs"]) == (switch == "True")


def test_linters_find_nothing() -> None:
    """The core has no comment that switches off a check without saying which: PyTorch's linters refuse these."""
    bare = re.compile(rb"#\s*(noqa|type:\s*ignore)(?![:\[])")
    assert [path for path, content in contents(core()).items() if path.endswith(".py") and bare.search(content)] == []


def run(*words: object) -> str:
    """What a program prints; it must succeed."""
    done = subprocess.run([*map(str, words)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
