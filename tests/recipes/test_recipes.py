"""Recipes name all that a contributor has to open, and what they say suffices, in a copy of the package on disk."""

from __future__ import annotations

import filecmp
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.engine.project import Project, files_of
from tests.recipes import ROOT, Recipe, add_row, file_of, recipes

#: How many files a recipe may have one read.
LIMIT = 6

RECIPES = recipes()


@pytest.mark.parametrize("recipe", RECIPES.values(), ids=RECIPES)
def test_files_are_few_and_there(recipe: Recipe) -> None:
    """The files to read are as many as the page says, they exist, and the text sends nobody to a file besides them."""
    read, changed = (set(map(file_of, names)) for names in (recipe.read, recipe.changed))
    assert [path for path in read if not (ROOT / path).is_file()] == []
    assert len(read) == len(recipe.read) == recipe.file_count <= LIMIT
    new = set(map(file_of, recipe.new))
    assert changed | recipe.paths == (changed | recipe.paths) & read | new


def test_every_addition_is_a_recipe() -> None:
    """Each section about adding something lists its files."""
    titles = re.findall(r"^## (Add a.*)$", (ROOT / "docs/contributing.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert set(titles) == {title for title in RECIPES if title.startswith("Add a")}


class Copy:
    """A copy of the package on disk, and processes that import it."""

    def __init__(self, folder: Path) -> None:
        self.source = folder / "src"
        shutil.copytree(ROOT / "src", self.source)

    def python(self, *words: object) -> str:
        """What a process prints that must succeed."""
        done = self.start(*words)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def start(self, *words: object) -> subprocess.CompletedProcess[str]:
        """A process with the copy in place of the package."""
        environment = {**os.environ, "PYTHONPATH": str(self.source), "PYTHONDONTWRITEBYTECODE": "1"}
        command = [sys.executable, *map(str, words)]
        return subprocess.run(command, capture_output=True, text=True, env=environment, check=False)

    def changed(self) -> set[str]:
        """The files that differ from those of the checkout, or are not there."""
        here = {path.relative_to(self.source.parent) for path in self.source.rglob("*") if path.is_file()}
        return {
            str(path)
            for path in here
            if "__pycache__" not in path.parts
            and not ((ROOT / path).exists() and filecmp.cmp(ROOT / path, self.source.parent / path, shallow=False))
        }


@pytest.fixture
def copy(tmp_path: Path) -> Copy:
    """A copy in a folder of the test."""
    return Copy(tmp_path / "copy")


ENTRIES = """\
- func: sinh(Tensor self) -> Tensor
  structured_delegate: sinh.out
  variants: function, method

- func: sinh.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
  structured: True
  structured_inherits: TensorIteratorBase
  dispatch:
    CPU: sinh_out
    Acme: sinh_out
"""

#: Asks `torchgen.model`, as programs that import PyTorch's generator do.
_ASK = """
import opwright.torchgen.model as model
from opwright.torchgen.gen import parse_native_yaml
import sys
key = model.DispatchKey.parse("Acme")
assert str(key) == "Acme" and model.DispatchKey.parse("AutogradAcme") in model.DispatchKey
assert len({key.value for key in model.DispatchKey}) == len(model.DispatchKey)
assert "Acme" in map(str, model.BACKEND_COMPONENTS) and key in model.dispatch_keys
assert model.is_structured_dispatch_key(key)
parsed = parse_native_yaml(*sys.argv[1:])
assert parsed.backend_indices[key].index
print(*[model.DispatchKey.parse(name).value for name in ("CPU", "CUDA", "Meta", "PrivateUse1")])
"""


def test_dispatch_key(copy: Copy, tmp_path: Path, reference_inputs: Path) -> None:
    """A key that is added as the page says is one of `torchgen.model`, of `dispatch`, and of files and messages."""
    recipe = RECIPES["Add a dispatch key"]
    [row] = recipe.blocks
    [module] = map(file_of, recipe.changed)
    add_row(copy.source.parent / module, "_ROWS", row)
    assert copy.changed() == {module}

    project = Project(tmp_path, reference_inputs)
    project.yaml.write_text(ENTRIES)
    words = project.words("--acme", "--jobs", "1")
    copy.python("-m", "opwright", *words)
    files = {Path(path).name: text.decode() for path, text in files_of(project.out).items()}
    named = re.findall(r"`(\w*(?i:acme)\w*\.(?:cpp|h))`", recipe.text.split("```")[-1])
    assert len(named) == 4
    assert files.keys() >= set(named)
    assert "#include <c10/acme/AcmeGuard.h>" in files["RegisterAcme_0.cpp"]
    assert "TORCH_LIBRARY_IMPL(aten, Acme, m)" in files["RegisterAcmeEverything.cpp"]

    numbers = copy.python("-c", _ASK, project.yaml, project.inputs / "native" / "tags.yaml")
    from torchgen.model import DispatchKey

    assert numbers.split() == [str(DispatchKey[name].value) for name in ("CPU", "CUDA", "Meta", "PrivateUse1")]

    project.edit("    Acme:", "    Acem:")
    failed = copy.start("-m", "opwright", *words)
    assert failed.returncode == 1
    assert "did you mean `Acme`?" in failed.stderr


def test_family(copy: Copy, tmp_path: Path, reference_inputs: Path) -> None:
    """A family that is added as the page says, with its module, is a choice of `--only` and writes its file."""
    recipe = RECIPES["Add a family"]
    emitter, row = recipe.blocks
    registry, module = map(file_of, recipe.changed)
    (copy.source.parent / module).write_text(emitter)
    add_row(copy.source.parent / registry, "_ROWS", row)
    assert copy.changed() == {module, registry}

    project = Project(tmp_path, reference_inputs)
    project.families = ("operator_list",)
    copy.python("-m", "opwright", *project.words("--jobs", "1"))
    [(path, listed)] = files_of(project.out).items()
    assert path == "lists/operators.txt"
    schemas = re.findall(r"^- func: (.*)$", project.yaml.read_text(), re.MULTILINE)
    assert set(schemas) <= set(listed.decode().splitlines())
    assert "`operator_list`, a list of all operators" in " ".join(
        copy.python("-m", "opwright", "generate", "--help").split()
    )
    project.edit("float eps=1e-6", "float eps=1e-5")
    assert "1 written" in copy.python("-m", "opwright", *project.words("--jobs", "1"))
    assert "float eps=1e-5" in project.out.joinpath("lists/operators.txt").read_text()
