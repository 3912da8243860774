"""Described actions are hermetic: their inputs are all that they read, and their outputs all that they write."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import opwright as opwright_package
from tests.builds.actions.sandbox import Sandbox, described, opwright, run_apart
from tests.engine.project import WholeProject, files_of

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"

#: Inputs by which Opwright recognises a folder of inputs; not every run reads them.
MARKS = {
    "torch/torchgen/packaged/ATen/native/native_functions.yaml",
    "torch/torchgen/packaged/autograd/derivatives.yaml",
}


def check_actions(tmp_path: Path, source: Path, *words: object) -> None:
    """Run the described actions twice apart, in folders of different depth, and once in the ordinary way; compare."""
    description = described(source, *words)
    first, sandboxes = run_apart(tmp_path / "one", source, description)
    second, _ = run_apart(tmp_path / "another" / "deeper", source, description)
    parts = [index for index, word in enumerate(words) if word == "--actions"]
    plain = words[: parts[0]] if parts else words
    opwright("generate", *plain, "--out", tmp_path / "plain", cwd=source)
    assert first == files_of(tmp_path / "plain")
    assert second == first
    read = set().union(*[sandbox.files_read() for sandbox in sandboxes])
    declared = set().union(*[sandbox.inputs for sandbox in sandboxes])
    assert declared - read <= MARKS


@pytest.mark.parametrize("words", [(), ("--actions", 3)])
def test_library(tmp_path: Path, words: tuple[object, ...]) -> None:
    """The actions of a library need its files, and little of PyTorch's."""
    check_actions(tmp_path, EXAMPLES / "library", "--library", "acme.yaml", *words)


@pytest.mark.thorough
def test_backend(tmp_path: Path) -> None:
    """The action of a backend has the backend file, and the library file and the derivatives that it names."""
    check_actions(tmp_path, EXAMPLES / "backend", "--backend", "acme.yaml")


@pytest.mark.thorough
def test_all_families(tmp_path: Path, reference_inputs: Path) -> None:
    """Every family that needs no file of a user is made by actions that have only the templates of their files."""
    project = WholeProject(tmp_path, reference_inputs)
    families = [word for family in project.families for word in ("--only", family)]
    where = ("--source-path", project.inputs, "--release", "2.13", *families)
    check_actions(tmp_path, tmp_path, *where, "--actions", 3)


@pytest.mark.thorough
@pytest.mark.parametrize("templates", [(), ("--templates", "own")])
def test_executorch(tmp_path: Path, reference_inputs: Path, templates: tuple[str, ...]) -> None:
    """The actions of registrations for ExecuTorch; a folder of templates is an input of theirs."""
    source = tmp_path / "source"
    source.mkdir()
    (source / "functions.yaml").write_text(
        "- op: add.out\n  kernels:\n    - arg_meta: null\n      kernel_name: mine::add_out\n"
    )
    own = Path(opwright_package.__file__).parent / "mobile" / "executorch" / "templates"
    shutil.copytree(own, source / "own", ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    words = ("--executorch", "functions.yaml", "--source-path", str(reference_inputs), *templates)
    check_actions(tmp_path, source, *words)


@pytest.mark.thorough
def test_plugins(tmp_path: Path, reference_inputs: Path) -> None:
    """The sources and templates of a plug-in are inputs of the actions that use it."""
    source = tmp_path / "source"
    shutil.copytree(EXAMPLES / "plugins" / "kernel_table", source, ignore=shutil.ignore_patterns("__pycache__"))
    words = ["--plugin", "kernel_table.py", "--source-path", str(reference_inputs), "--only", "kernel_table"]
    description = described(source, *words)
    files = description["actions"][0]["files"]
    assert "kernel_table.py" in files
    assert any(path.startswith("templates/") for path in files)
    check_actions(tmp_path, source, *words)


@pytest.mark.thorough
def test_pytorch(tmp_path: Path, reference_inputs: Path) -> None:
    """The default families of PyTorch in four actions."""
    source = tmp_path / "source"
    source.mkdir()
    check_actions(tmp_path, source, "--source-path", reference_inputs, "--actions", 4)


def test_the_guard_sees_reads_elsewhere(tmp_path: Path) -> None:
    """The sandbox of these tests notices an input that is not declared, and a run that keeps state."""
    source = tmp_path / "source"
    shutil.copytree(EXAMPLES / "library", source)
    description = described(source, "--library", "acme.yaml")
    action = description["actions"][0]
    words = action["arguments"]
    elsewhere = {**action, "arguments": [str(source / word) if word == "acme.yaml" else word for word in words]}
    done = Sandbox(tmp_path / "reads", source, description, elsewhere).run()
    assert done.returncode == 99
    assert f"not hermetic: reads {source / 'acme.yaml'}" in done.stderr
    plain = {**action, "arguments": [word for word in words if word != "--hermetic"]}
    sandbox = Sandbox(tmp_path / "state", source, description, plain)
    assert sandbox.run().returncode == 99 or sorted(sandbox.outputs()) != action["outputs"]
