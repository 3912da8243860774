"""Projects of `opwright new kernel`: what kernel-builder would compile, and Hugging Face's `kernels` with two builds.

kernel-builder is a program of Nix. A build here does what it does to these projects: it compiles the sources of
`build.toml` as a module of Python under a name of its own, and writes the module `_ops` with that name.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import pytest
import tomlkit

from opwright.cli.main import main
from tests.compile.compiler import Compiler, compiler_program, torch_folder

PROGRAM = Path(__file__).with_name("kernel_program.py")
OPS = """\
import torch
from . import {name}

ops = torch.ops.{name}


def add_op_namespace_prefix(op_name):
    return f"{name}::{{op_name}}"
"""


@dataclass(frozen=True)
class KernelCompiler(Compiler):
    """Compiles a module of Python that works with every version, under a name."""

    name: str = ""

    def flags(self) -> list[str]:
        """The name is a macro. Variables of inline functions belong to one build alone."""
        definitions = [f"-DTORCH_EXTENSION_NAME={self.name}", "-DPy_LIMITED_API=0x03090000"]
        return [*super().flags(), *definitions, "-fno-gnu-unique"]

    def link(self, name: str, objects: Sequence[Path]) -> Path:
        """The module; the interpreter that loads it defines the functions of Python."""
        target = self.folder / f"{name}.abi3.so"
        libraries = [f"-L{torch_folder() / 'lib'}", "-ltorch", "-ltorch_cpu", "-lc10"]
        self._run("-shared", *objects, "-o", target, *libraries)
        return target


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A new project with its generated code."""
    folder = tmp_path / "acme-clip"
    assert main(["new", "kernel", "acme-clip", str(folder)]) == 0
    monkeypatch.chdir(folder)
    words = ["--library", "operators.yaml", "--torch", "auto", "--layout", "kernel", "--out", ".", "--strict"]
    assert main(["generate", *words]) == 0
    return folder


def build(project: Path, name: str, folder: Path) -> Path:
    """The folder of a kernel with one build of a project, under a name."""
    settings = tomlkit.parse((project / "build.toml").read_text(encoding="utf-8")).unwrap()
    parts = [settings["torch"], *settings["kernel"].values()]
    stable = settings["torch"]["stable-abi"]["cpu"].replace(".", "")
    variant = folder / "build" / f"torch-stable-abi{stable}-cpu-{platform.machine()}-linux"
    shutil.copytree(project / "torch-ext" / "acme_clip", variant)
    includes = [project / path for part in parts for path in part["include"]]
    program = compiler_program()
    assert program is not None
    compiler = KernelCompiler(program, variant, includes, name=name)
    sources = [project / path for part in parts for path in part["src"] if path.endswith(".cpp")]
    compiler.library(name, sources)
    (variant / "_ops.py").write_text(OPS.format(name=name), encoding="utf-8")
    general = settings["general"]
    metadata = {key: general[key] for key in ("name", "version", "license")}
    digest = {"algorithm": "sha256", "files": {}}
    text = json.dumps({**metadata, "id": name, "backend": {"type": "cpu"}, "python-depends": [], "digest": digest})
    (variant / "metadata.json").write_text(text, encoding="utf-8")
    return folder


def test_files_of_a_project(project: Path) -> None:
    """The files that the builder is told of are there, and nothing names the namespace before the build."""
    settings = tomlkit.parse((project / "build.toml").read_text(encoding="utf-8")).unwrap()
    for part in (settings["torch"], *settings["kernel"].values()):
        assert all((project / path).exists() for path in (*part["src"], *part["include"]))
    package = project / "torch-ext" / settings["general"]["name"].replace("-", "_")
    assert {"__init__.py", "_functions.py", "_fakes.py", "_autograd.py"} <= {path.name for path in package.iterdir()}
    assert "torch.ops." not in (package / "_functions.py").read_text(encoding="utf-8")
    # A second run has nothing to do, so that a check finds code that is out of date.
    assert main(["generate", "--library", "operators.yaml", "--layout", "kernel", "--out", ".", "--check"]) == 0


@pytest.mark.thorough
@pytest.mark.skipif(sys.platform != "linux" or compiler_program() is None, reason="there is no compiler of Linux")
@pytest.mark.skipif(
    not Path(sysconfig.get_path("include"), "Python.h").exists(), reason="there are no headers of Python"
)
@pytest.mark.skipif(find_spec("kernels") is None, reason="Hugging Face's kernels is not installed")
def test_two_builds_in_one_process(project: Path, tmp_path: Path) -> None:
    """Two builds of a kernel that differ are loaded in one process: each has its operators, fakes and gradients."""
    first = build(project, "_acme_clip_cpu_1111111", tmp_path / "first")
    kernel = project / "acme_clip_cpu" / "kernels.cpp"
    text = kernel.read_text(encoding="utf-8")
    kernel.write_text(text.replace("(limit * std::tanh", "(2 * limit * std::tanh"), encoding="utf-8")
    formulas = project / "derivatives.yaml"
    text = formulas.read_text(encoding="utf-8")
    formulas.write_text(text.replace("(1 - (result / limit).square())", "(2 - (result / limit).square() / 2)"))
    assert main(["generate", "--library", "operators.yaml", "--layout", "kernel", "--out", "."]) == 0
    second = build(project, "_acme_clip_cpu_2222222", tmp_path / "second")
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path / "hub")}
    done = subprocess.run(
        [sys.executable, PROGRAM, first, second], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["_acme_clip_cpu_1111111 1.0", "_acme_clip_cpu_2222222 2.0"]
