"""The example for Bazel, built by Bazel in its sandbox: Debian's package `bazel-bootstrap` has one.

apt-get install bazel-bootstrap bazel-rules-java bazel-rules-proto
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.builds.actions.bazel import EXAMPLE, OPTIONS, RULES, USER_OPTIONS, Workspace, is_installed
from tests.engine.project import replace_once
from tests.pages.page import Page

pytestmark = [
    pytest.mark.thorough,
    pytest.mark.skipif(not is_installed(), reason="Debian's Bazel is not installed"),
]

PAGE = Path(__file__).resolve().parents[3] / "docs/build-systems.md"

GENERATED = {"//:acme_ops_code.0", "//:acme_ops_code.1"}
#: Compiles the packages of Opwright to bytecode.
PACKAGES = "@opwright//:opwright"


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    """A copy of the example with a Bazel of its own."""
    workspace = Workspace(tmp_path / "example", tmp_path / "root")
    yield workspace
    workspace.bazel("shutdown")


def test_builds_follow_the_entries(workspace: Workspace) -> None:
    """A build runs the actions; the next runs nothing; an edit runs what depends on it, and no more."""
    targets = ("//:acme_ops_code", "//:operator_names")
    assert {*workspace.built(*targets)} == GENERATED | {PACKAGES, "//:operator_names"}
    assert "\ndef soft_clip(self: Tensor, limit: float = 1.0)" in workspace.output("operator_names.txt")
    assert workspace.built(*targets) == []
    workspace.yaml.write_text(workspace.yaml.read_text() + "# a comment\n")
    assert {*workspace.built(*targets)} == GENERATED
    assert workspace.built(*targets) == []
    replace_once(workspace.yaml, "limit=1.0", "limit=2.0")
    assert {*workspace.built(*targets)} == GENERATED | {"//:operator_names"}
    assert "limit: float = 2.0" in workspace.output("operator_names.txt")
    before = (workspace.folder / "operators.bzl").read_text()
    workspace.describe()
    assert (workspace.folder / "operators.bzl").read_text() == before


def test_new_outputs_need_a_new_description(workspace: Workspace) -> None:
    """If an edit adds an output, the build fails, and says so, until the generation is described again."""
    replace_once(workspace.yaml, "  doc: Limits", "  samples: [torch.rand(3)]\n  doc: Limits")
    done = workspace.build("//:acme_ops_code")
    assert done.returncode == 1
    assert "error[E0618]: the run makes other files than the build declares" in done.stderr
    workspace.describe()
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
    """A `py_binary`, and a Python toolchain, are tools; arguments that all rules have reach every rule of a macro.

    The repository loads rules from `rules_cc` and `rules_python` if it is told to, as it is in a module.
    """
    workspace.add_tools()
    workspace.load_rules()
    for name in ("by_program", "by_toolchain"):
        done = workspace.build("--extra_toolchains=//:python_toolchain", f"//:{name}_code")
        assert done.returncode == 0, done.stderr
        assert "operators, " not in done.stderr
    ours, theirs = (workspace.output(f"{name}_code/include/acme_ops/ops.h") for name in ("by_program", "by_toolchain"))
    assert ours == theirs
    found = workspace.bazel("query", *OPTIONS, "attr(tags, manual, attr(testonly, 1, //:all))").stdout.split()
    assert {"//:by_program", "//:by_program_code", "//:by_program_code_headers", "//:by_program_code.0"} <= {*found}
    found = workspace.bazel(
        "query", *OPTIONS, "attr(exec_properties, generators, //:all + @opwright//:all)"
    ).stdout.split()
    assert {PACKAGES, "//:by_program", "//:by_program_code.0", "//:by_program_code.1"} <= {*found}


def test_the_page_can_be_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The files of the page make a project that Bazel builds, and its commands for the example work as they are."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    options = USER_OPTIONS.format(example=EXAMPLE) + f"build --disk_cache={tmp_path}/cache\n"
    (tmp_path / "home/.bazelrc").write_text(options)
    project = tmp_path / "project"
    Workspace(project, tmp_path / "unused")
    for name in ("BUILD.bazel", "WORKSPACE", "MODULE.bazel", "operators.bzl", ".bazelrc"):
        (project / name).unlink()
    example = Workspace(project / "examples/bazel", tmp_path / "unused").folder
    (project / "src/opwright").mkdir(parents=True)
    shutil.copytree(RULES, project / "src/opwright/builds/bazel")
    try:
        assert Page(PAGE, project).run() == 8
    finally:
        for folder in (project, example):
            subprocess.run(["bazel", "shutdown"], cwd=folder, check=False, capture_output=True)
