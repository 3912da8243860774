"""Copies of the example for Bazel, and builds of them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import opwright
from opwright.builds.actions.description import PACKAGES
from tests.engine.project import replace_once

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "bazel"
RULES = Path(opwright.__file__).parent / "builds" / "bazel"

OPTIONS = ("--config=debian", f"--override_repository=opwright_rules={RULES}")


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


#: What a user of Debian's Bazel who has no network says once.
USER_OPTIONS = """
startup --max_idle_secs=60
build --jobs=2
common --override_repository=rules_java=/usr/share/bazel/rules/java
common --override_repository=rules_proto=/usr/share/bazel/rules/proto
common --override_repository=rules_cc={example}/offline/rules_cc
"""


def is_installed() -> bool:
    """Whether Debian's Bazel and its rules are there."""
    return shutil.which("bazel") is not None and Path("/usr/share/bazel/rules/java").is_dir()


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
        with self.started(*words) as process:
            stdout, stderr = process.communicate()
        return subprocess.CompletedProcess(process.args, process.returncode, stdout, stderr)

    def started(self, *words: str) -> subprocess.Popen[str]:
        """A run of Bazel that has begun."""
        command = ["bazel", f"--output_user_root={self.root}", "--max_idle_secs=60", *words]
        pipe = subprocess.PIPE
        return subprocess.Popen(command, cwd=self.folder, env=self.environment, stdout=pipe, stderr=pipe, text=True)

    def build(self, *targets: str) -> subprocess.CompletedProcess[str]:
        """A build, which shows the commands that it runs."""
        return self.bazel("build", *OPTIONS, "--jobs=2", "--subcommands", *targets)

    def built(self, *targets: str) -> list[str]:
        """The target of each command that a build runs, which must succeed."""
        done = self.build(*targets)
        assert done.returncode == 0, done.stderr
        return re.findall(r"^SUBCOMMAND: # (\S+) ", done.stderr, re.MULTILINE)

    def describe(self) -> None:
        """Describe the generation again, with the command that the description names."""
        command = re.search(r"`opwright ([^`]*)`", (self.folder / "operators.bzl").read_text())
        assert command is not None
        self.opwright(*command[1].split())

    def opwright(self, *words: str) -> None:
        """A run of Opwright in the folder of the BUILD file, which must succeed."""
        command = [sys.executable, "-m", "opwright", *words]
        subprocess.run(command, cwd=self.folder, env=self.environment, check=True, capture_output=True)

    def add_tools(self) -> None:
        """Add the libraries `by_program` and `by_toolchain`."""
        build = self.folder / "BUILD.bazel"
        build.write_text(build.read_text() + TOOLS)
        (self.folder / "program.py").write_text("from opwright.cli.main import program\n\nprogram()\n")

    def load_rules(self) -> None:
        """Let the repository `opwright` load rules from others, of which the last stands for `rules_python`."""
        rules = self.folder / "offline/rules_python"
        (rules / "python").mkdir(parents=True)
        (rules / "WORKSPACE").touch()
        (rules / "python/BUILD.bazel").touch()
        (rules / "python/defs.bzl").write_text("py_library = native.py_library\n")
        workspace = self.folder / "WORKSPACE"
        replace_once(
            workspace,
            '    python = "python3",\n',
            '    python = "python3",\n    load_rules = True,\n    exec_properties = {"pool": "generators"},\n',
        )
        rule = 'local_repository(name = "rules_python", path = "offline/rules_python")\n'
        workspace.write_text(workspace.read_text() + rule)

    def use_environment(self, folder: Path) -> None:
        """Make an environment in a folder, with copies of the packages of actions, and use it."""
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
        packages = next(folder.glob("lib/python*/site-packages"))
        for name in (*PACKAGES, "torch", "torchgen"):
            spec = find_spec(name)
            assert spec is not None
            assert spec.origin is not None
            if name in PACKAGES:
                shutil.copytree(Path(spec.origin).parent, packages / name)
            else:
                (packages / name).symlink_to(Path(spec.origin).parent)
        del self.environment["PYTHONPATH"]
        self.environment["PATH"] = f"{folder}/bin{os.pathsep}{os.environ['PATH']}"

    def output(self, path: str) -> str:
        """The text of an output."""
        return (self.folder / "bazel-bin" / path).read_text()
