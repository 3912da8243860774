"""The example for Bazel, built by Bazel in its sandbox: Debian's package `bazel-bootstrap` has one.

apt-get install bazel-bootstrap bazel-rules-java bazel-rules-proto
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import opwright
from tests.engine.project import replace_once

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "bazel"
RULES = Path(opwright.__file__).parent / "bazel"
DEBIAN = Path("/usr/share/bazel/rules/java")

pytestmark = [
    pytest.mark.thorough,
    pytest.mark.skipif(shutil.which("bazel") is None or not DEBIAN.is_dir(), reason="Debian's Bazel is not installed"),
]

OPTIONS = ("--config=debian", f"--override_repository=opwright_rules={RULES}")
GENERATED = {"//:acme_ops_code.0", "//:acme_ops_code.1"}

#: A library for each way to say how actions run Opwright.
TOOLS = """
load("@opwright_rules//:opwright.bzl", "opwright_binary_tool", "opwright_python_tool")

# The start of a `py_binary` asks for `python` otherwise, which Debian does not have.
py_runtime(
    name = "runtime",
    interpreter_path = "/usr/bin/python3",
    python_version = "PY3",
    stub_shebang = "#!/usr/bin/python3",
)
load("@bazel_tools//tools/python:toolchain.bzl", "py_runtime_pair")
py_runtime_pair(name = "runtimes", py3_runtime = ":runtime")
toolchain(
    name = "python_toolchain",
    toolchain = ":runtimes",
    toolchain_type = "@bazel_tools//tools/python:toolchain_type",
)

py_binary(name = "program", srcs = ["program.py"], legacy_create_init = False, deps = ["@opwright//:python"])
opwright_binary_tool(name = "program_tool", binary = ":program")
opwright_python_tool(name = "toolchain_tool", packages = ["@opwright//:packages"])

[opwright_library(
    name = name,
    srcs = [],
    actions = ACTIONS,
    exec_properties = {"pool": "generators"},
    opwright = tool,
    tags = ["manual"],
    testonly = True,
    visibility = ["//visibility:private"],
) for name, tool in [("by_program", ":program_tool"), ("by_toolchain", ":toolchain_tool")]]
"""


class Workspace:
    """A copy of the example, and builds of it."""

    def __init__(self, folder: Path, root: Path) -> None:
        shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns("bazel-*"))
        self.folder, self.root = folder, root
        self.yaml = folder / "operators.yaml"
        source = str(Path(opwright.__file__).parents[1])
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        self.environment = {**os.environ, "PATH": path, "PYTHONPATH": source}

    def bazel(self, *words: str) -> subprocess.CompletedProcess[str]:
        """A run of Bazel."""
        command = ["bazel", f"--output_user_root={self.root}", "--max_idle_secs=60", *words]
        return subprocess.run(
            command, cwd=self.folder, env=self.environment, capture_output=True, text=True, check=False
        )

    def build(self, *targets: str) -> subprocess.CompletedProcess[str]:
        """A build, which shows the commands that it runs."""
        return self.bazel("build", *OPTIONS, "--jobs=2", "--subcommands", *targets)

    def built(self, *targets: str) -> list[str]:
        """The target of each command that a build runs, which must succeed."""
        done = self.build(*targets)
        assert done.returncode == 0, done.stderr
        return re.findall(r"^SUBCOMMAND: # (\S+) ", done.stderr, re.MULTILINE)

    def output(self, path: str) -> str:
        """The text of an output."""
        return (self.folder / "bazel-bin" / path).read_text()


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    """A copy of the example with a Bazel of its own."""
    workspace = Workspace(tmp_path / "example", tmp_path / "root")
    yield workspace
    workspace.bazel("shutdown")


def describe(workspace: Workspace) -> None:
    """Describe the generation again, with the command that the description names."""
    command = re.search(r"`(opwright [^`]*)`", (workspace.folder / "operators.bzl").read_text())
    assert command is not None
    words = [sys.executable, "-m", *command[1].split()]
    subprocess.run(words, cwd=workspace.folder, env=workspace.environment, check=True, capture_output=True)


def test_builds_follow_the_entries(workspace: Workspace) -> None:
    """A build runs the actions; the next runs nothing; an edit runs what depends on it, and no more."""
    targets = ("//:acme_ops_code", "//:operator_names")
    assert {*workspace.built(*targets)} == GENERATED | {"//:operator_names"}
    assert workspace.output("operator_names.txt").startswith("def soft_clip(self: Tensor, limit: float = 1.0)")
    assert workspace.built(*targets) == []
    workspace.yaml.write_text(workspace.yaml.read_text() + "# a comment\n")
    assert {*workspace.built(*targets)} == GENERATED
    assert workspace.built(*targets) == []
    replace_once(workspace.yaml, "limit=1.0", "limit=2.0")
    assert {*workspace.built(*targets)} == GENERATED | {"//:operator_names"}
    assert "limit: float = 2.0" in workspace.output("operator_names.txt")
    before = (workspace.folder / "operators.bzl").read_text()
    describe(workspace)
    assert (workspace.folder / "operators.bzl").read_text() == before


def test_new_outputs_need_a_new_description(workspace: Workspace) -> None:
    """If an edit adds an output, the build fails, and says so, until the generation is described again."""
    replace_once(workspace.yaml, "  doc: Limits", "  samples: [torch.rand(3)]\n  doc: Limits")
    done = workspace.build("//:acme_ops_code")
    assert done.returncode == 1
    assert "error[E0618]: the run makes other files than the build declares" in done.stderr
    describe(workspace)
    assert workspace.built("//:acme_ops_code")
    assert "soft_clip" in workspace.output("acme_ops_code/tests/test_acme_ops.py")


def test_undeclared_inputs_are_missing(workspace: Workspace) -> None:
    """The actions run in Bazel's sandbox: a file that the description lacks is not there."""
    description = workspace.folder / "operators.bzl"
    text = description.read_text()
    description.write_text(text.replace('            "torchgen/packaged/ATen/native/tags.yaml",\n', ""))
    done = workspace.build("//:acme_ops_code")
    assert done.returncode == 1
    assert "has no `native/tags.yaml`" in done.stderr


def test_compiled_library(workspace: Workspace) -> None:
    """Bazel compiles and links the library, and compiles again only sources whose own inputs changed."""
    library = "//:_C.so"
    first = workspace.built(library)
    assert first.count("//:acme_ops") == 2
    code = (
        "import torch; torch.ops.load_library('bazel-bin/_C.so'); "
        "print(torch.ops.acme_ops.halve(torch.ones(1)).item(), torch.ops.acme_ops.soft_clip(torch.zeros(1)).item())"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=workspace.folder, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["0.5", "0.0"]
    assert workspace.built(library) == []
    # Documentation is in the Python module, which the other action makes and the library does not need.
    replace_once(workspace.yaml, "Limits values", "Limits all values")
    assert workspace.built(library) == ["//:acme_ops_code.0"]
    # Tags are in the registrations, and not in the headers that the kernels include.
    replace_once(
        workspace.yaml,
        "- func: halve(Tensor self) -> Tensor\n",
        "- func: halve(Tensor self) -> Tensor\n  tags: pointwise\n",
    )
    tagged = workspace.built(library)
    assert {*tagged} == {"//:acme_ops_code.0", "//:acme_ops", library}
    assert tagged.count("//:acme_ops") < first.count("//:acme_ops")


def test_tools_and_common_arguments(workspace: Workspace) -> None:
    """A `py_binary`, and a Python toolchain, are tools; arguments that all rules have reach every rule of a macro."""
    build = workspace.folder / "BUILD.bazel"
    build.write_text(build.read_text() + TOOLS)
    (workspace.folder / "program.py").write_text("from opwright.cli.main import program\n\nprogram()\n")
    for name in ("by_program", "by_toolchain"):
        done = workspace.build("--extra_toolchains=//:python_toolchain", f"//:{name}_code")
        assert done.returncode == 0, done.stderr
        assert "operators, " not in done.stderr
    ours, theirs = (workspace.output(f"{name}_code/include/acme_ops/ops.h") for name in ("by_program", "by_toolchain"))
    assert ours == theirs
    found = workspace.bazel("query", *OPTIONS, "attr(tags, manual, attr(testonly, 1, //:all))").stdout.split()
    assert {"//:by_program", "//:by_program_code", "//:by_program_code_headers", "//:by_program_code.0"} <= {*found}
    found = workspace.bazel("query", *OPTIONS, "attr(exec_properties, generators, //:all)").stdout.split()
    assert {"//:by_program", "//:by_program_code.0", "//:by_program_code.1"} <= {*found}
