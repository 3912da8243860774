"""Descriptions of generations: their form, and what cannot be described."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from opwright.builds.actions.formats import json_schema
from tests.builds.actions.sandbox import described, opwright

LIBRARY = Path(__file__).resolve().parents[3] / "examples" / "library"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A folder with the files of a library."""
    folder = tmp_path / "source"
    shutil.copytree(LIBRARY, folder)
    return folder


def faulty(source: Path, *words: object) -> str:
    """What a run of the program says, which must fail."""
    command = [sys.executable, "-m", "opwright", "generate", "--library", "acme.yaml", *map(str, words)]
    environment = {**os.environ, "PYTHONPATH": str(source)}
    done = subprocess.run(command, cwd=source, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    return done.stderr


def test_the_document_fits_its_schema(source: Path) -> None:
    """The JSON form has the fields of its schema and no others, and its actions share the outputs."""
    jsonschema = pytest.importorskip("jsonschema")
    document = described(source, "--library", "acme.yaml", "--actions", 2, "--strict")
    jsonschema.validate(document, json_schema())
    first, second = document["actions"]
    assert not set(first["outputs"]) & set(second["outputs"])
    assert first["files"] == second["files"] == ["acme.yaml", "derivatives.yaml"]
    assert "--strict" in first["arguments"]
    assert first["arguments"][-4:-2] == ["--shard", "0/2"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--torch", "auto"), "cannot read the installed PyTorch"),
        (("--torch", "2.13.0"), "cannot read PyTorch 2.13.0 from the package index"),
        (("--source-path", ".", "--stamp", "done"), "cannot have `--stamp`"),
    ],
)
def test_runs_that_cannot_be_hermetic(source: Path, words: tuple[str, ...], message: str) -> None:
    """A hermetic run refuses inputs that it cannot declare, and files about the run."""
    stderr = faulty(source, "--out", "gen", "--hermetic", *words)
    assert "E0616" in stderr
    assert message in stderr
    assert not (source / "gen").exists()


def test_files_elsewhere(source: Path, tmp_path: Path) -> None:
    """A file outside of the working folder has no path for a build system."""
    (tmp_path / "other.yaml").write_text((source / "acme.yaml").read_text().replace("acme", "other"))
    shutil.copy(source / "derivatives.yaml", tmp_path)
    stderr = faulty(source, "--library", "../other.yaml", "--out", "gen", "--describe", "json")
    assert "E0617" in stderr
    assert "neither below the working folder nor among PyTorch's inputs" in stderr


def test_plugins_without_a_path(source: Path) -> None:
    """A plug-in that is named as a module may be missing on other machines."""
    (source / "own.py").write_text('from opwright.plugin import Plugin\n\nplugin = Plugin("own", api=1)\n')
    stderr = faulty(source, "--plugin", "own", "--out", "gen", "--describe", "json")
    assert "E0617" in stderr
    assert "the plug-in `own` is not named by its path" in stderr


def test_actions_declare_what_dependency_files_list(source: Path, reference_inputs: Path) -> None:
    """The inputs of an action are those of the run, without the program and what it does not read of PyTorch."""
    (source / "selection.yaml").write_text("operators:\n  aten::abs: {is_used_for_training: true}\n", encoding="utf-8")
    words = ["--library", "acme.yaml", "--op-selection-yaml-path", "selection.yaml", "--source-path", reference_inputs]
    [action] = described(source, *words)["actions"]
    opwright("generate", *words, "--out", "gen", "--depfile", "gen.d", "--stamp", "done", cwd=source)
    read = {Path(word) for word in (source / "gen.d").read_text(encoding="utf-8").replace("\\\n", " ").split()[1:]}
    read = {path for path in read if path.is_file()}
    assert {source / name for name in action["files"]} == {path for path in read if path.is_relative_to(source)}
    top = reference_inputs.parents[2]
    assert {top / name for name in action["torch_files"]} < {path for path in read if path.is_relative_to(top)}


def test_parts_are_not_described(source: Path) -> None:
    """The description of a part alone would lose the others."""
    assert "E0617" in faulty(source, "--out", "gen", "--describe", "json", "--shard", "0/2")


def test_a_new_output_needs_a_new_description(source: Path, reference_inputs: Path) -> None:
    """An action whose outputs are others than those described writes nothing."""
    action = described(source, "--library", "acme.yaml")["actions"][0]
    declared = action["arguments"][action["arguments"].index("--declared") + 1]
    words = ("--source-path", reference_inputs, "--hermetic", "--declared", declared, "--out", "gen")
    command = [sys.executable, "-m", "opwright", "generate", "--library", "acme.yaml", *map(str, words)]
    subprocess.run(command, cwd=source, check=True, capture_output=True)
    assert not (source / "gen" / ".opwright").exists()
    shutil.rmtree(source / "gen")
    stderr = faulty(source, *words, "--in-folder", "include/acme")
    assert "E0618" in stderr
    assert "2 files" in stderr
    assert not (source / "gen").exists()


def test_in_folder(source: Path, reference_inputs: Path) -> None:
    """`--in-folder` makes the files that are directly in one folder."""
    words = ["generate", "--library", "acme.yaml", "--source-path", reference_inputs, "--out", "gen"]
    for folder, count in (("include/acme", 2), ("src/acme", 1), (".", 0)):
        command = [sys.executable, "-m", "opwright", *map(str, words), "--in-folder", folder, "--dry-run"]
        done = subprocess.run(command, cwd=source, check=True, capture_output=True, text=True)
        assert len(done.stdout.splitlines()) == count


def test_the_schema_is_printed(source: Path) -> None:
    """`opwright schema actions` prints the schema."""
    command = [sys.executable, "-m", "opwright", "schema", "actions"]
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=source)
    assert json.loads(done.stdout) == json_schema()


@pytest.mark.thorough
def test_folders_as_outputs(source: Path) -> None:
    """An action may have folders as outputs, with any files in them, but no other folders; only one action has them."""
    words = ("--out", "gen", "--describe", "bazel-folders")
    assert "several actions cannot have the same folders" in faulty(source, *words, "--actions", "2")
    text = opwright("generate", "--library", "acme.yaml", *words, cwd=source)
    folders = re.search(r"outs = \[\],\s*folders = \[([^\]]*)\]", text)
    assert folders is not None
    assert re.findall(r'"(\w+)"', folders[1]) == ["include", "python", "src", "tests"]
    digest = re.search(r'"--declared",\s*"(\w+)"', text)
    assert digest is not None
    run = ("--torch", "auto", "--out", "gen", "--declared", digest[1])
    opwright("generate", "--library", "acme.yaml", *run, cwd=source)
    assert {path.name for path in (source / "gen").iterdir()} == {".opwright", "include", "python", "src", "tests"}
    library = source / "acme.yaml"
    # Of an operator that is made of others, without samples, nothing is tested.
    library.write_text("namespace: acme\noperators:\n- func: same(Tensor self) -> Tensor\n")
    assert "E0618" in faulty(source, *run)
