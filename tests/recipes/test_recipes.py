"""Recipes name all that a contributor has to open, and what they say suffices, in a copy of the package on disk."""

from __future__ import annotations

import filecmp
import os
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from tests.engine.project import Project, files_of, replace_once
from tests.recipes import ROOT, Cost, Recipe, add_row, costs, file_of, recipes

#: How many files a recipe may have one read, and how many a change may touch besides the code of its author.
LIMIT = 6
MOST_CHANGED = 2

RECIPES = recipes()

#: What each change that the page counts touches, in tests that follow its recipe: here, or in
#: `tests/engine/test_added_field.py`.
CHANGES = {
    "Add a field of an entry": ("model/native_function.py", "dialects/native_functions/fields.py"),
    "Add a field to library files": ("libraries/dialect/fields.py", "libraries/entry_fields.py"),
    "Add a dispatch key": ("model/dispatch_key.py",),
    "Add a type": ("schema/base_types.py",),
    "Add a family": ("emit/registry.py", "emit/aten/operator_list.py"),
    "Add a calling convention": ("convention/handles.py",),
    "Add an option": ("emit/emitter.py", "cli/generate.py"),
    "Add a behaviour of a release": ("release/rules.py",),
}


@pytest.mark.parametrize("cost", costs(), ids=lambda cost: cost.title)
def test_costs_are_those_of_the_page(cost: Cost) -> None:
    """A change touches as few files as the page says, and its recipe has one read no more lines than it says."""
    recipe = RECIPES[cost.title]
    changed = {*map(file_of, CHANGES[cost.title])}
    assert changed <= {*map(file_of, recipe.changed)}
    assert len(changed) == cost.files <= min(MOST_CHANGED, cost.files_before)
    lines = sum(len((ROOT / file_of(name)).read_text(encoding="utf-8").splitlines()) for name in recipe.read)
    assert 0.9 * cost.lines < lines <= cost.lines


def test_every_change_has_its_cost() -> None:
    """The page counts the changes that tests follow."""
    assert {cost.title for cost in costs()} == CHANGES.keys()


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


#: Asks for all that knows base types what it makes of one, the type of C++ in a source among them.
_ASK_TYPE = """
import sys
from opwright.convention import dispatcher
from opwright.libraries.dialect.expression_types import value_type
from opwright.migrate.importing.pybind import _QUALIFIERS
from opwright.migrate.porting import values
from opwright.schema import parse_schema, parse_type
from opwright.syntax.cpp_functions import inferred_schema
from opwright.syntax.cpp_types import are_different, read_type
schema = parse_schema("f(Event e, Event[] more) -> Event?")
print(*[parameter.type.text for parameter in dispatcher.arguments(schema)], sep="; ")
print(inferred_schema("f", "at::Event", ["const c10::Event&", "std::optional<at::Event>"], {}))
types = [read_type(text) for text in ("at::Event", "c10::Event", "at::Tensor")]
print(*[are_different(types[0], other) for other in types[1:]])
print(value_type(parse_type("Event")).kind.name, values.value_type("at::Event"), _QUALIFIERS["Event"])
"""


def test_type(copy: Copy) -> None:
    """A type that is added as the page says is one of schemas and C++, of sources that are imported, and of ports."""
    recipe = RECIPES["Add a type"]
    [row], [module, *_] = recipe.blocks, map(file_of, recipe.changed)
    add_row(copy.source.parent / module, "BASE_TYPE_ROWS", row)
    assert copy.changed() == {*map(file_of, CHANGES[recipe.title])}
    assert copy.python("-c", _ASK_TYPE).splitlines() == [
        "at::Event; at::ArrayRef<at::Event>",
        "f(Event _0, Event? _1) -> Event _0",
        "False True",
        "other Event at::",
    ]


_ASK_SIGNATURE = """
import sys
import opwright
from opwright.convention.handles import signature
for function in opwright.load(source_path=sys.argv[1]).functions:
    print(signature(function).declaration())
"""


def test_convention(copy: Copy, tmp_path: Path, reference_inputs: Path) -> None:
    """A convention that is added as the page says gives the signature of each operator."""
    recipe = RECIPES["Add a calling convention"]
    [block], [module] = recipe.blocks, map(file_of, recipe.new)
    (copy.source.parent / module).write_text(block)
    assert copy.changed() == {*map(file_of, CHANGES[recipe.title])}
    project = Project(tmp_path, reference_inputs)
    declared = copy.python("-c", _ASK_SIGNATURE, project.inputs).splitlines()
    assert "at::Tensor shifted(acme::Handle handle, const at::Tensor & self, const at::Tensor & other" in "\n".join(
        declared
    )
    assert len(declared) > 10
    assert all("(acme::Handle handle" in line for line in declared)


def test_flag(copy: Copy, tmp_path: Path, reference_inputs: Path) -> None:
    """A flag that is added as the page says is in the help, and reaches an emitter; another value regenerates files."""
    recipe = RECIPES["Add an option"]
    blocks = dict(zip(CHANGES[recipe.title], recipe.blocks, strict=True))
    places = ("    per_operator_headers: bool = True\n", "    add_lean_argument(output)\n")
    for (name, block), place in zip(blocks.items(), places, strict=True):
        replace_once(copy.source.parent / file_of(name), place, textwrap.indent(block, "    ") + place)
    assert copy.changed() == {*map(file_of, CHANGES[recipe.title])}

    emitter, row = RECIPES["Add a family"].blocks
    text = emitter.replace('f"{function.schema}\\n"', 'f"{function.schema} {context.options.noted}\\n"')
    assert text != emitter
    (copy.source / "opwright/emit/aten/operator_list.py").write_text(text)
    add_row(copy.source / "opwright/emit/registry.py", "_ROWS", row)
    project = Project(tmp_path, reference_inputs)
    project.families = ("operator_list",)
    for words, noted in [((), "False"), (("--noted",), "True"), (("--noted",), "True")]:
        copy.python("-m", "opwright", *project.words("--jobs", "1", *words))
        lines = project.out.joinpath("lists/operators.txt").read_text().splitlines()
        assert {line.rpartition(" ")[2] for line in lines} == {noted}
    assert "--noted" in copy.python("-m", "opwright", "generate", "--help-all")


_ASK_RULE = """
from opwright.release.rules import Rules
from opwright.release.version import parse_version
print(*[Rules(parse_version(text)).notes_in_headers for text in ("2.13.0", "2.14.0", "2.15.0")])
"""


def test_behaviour(copy: Copy) -> None:
    """A behaviour that is added as the page says has its value in each release, and users are told of it."""
    recipe = RECIPES["Add a behaviour of a release"]
    [row], [module] = recipe.blocks, map(file_of, recipe.changed)
    place = "    # ATen: registration and functionalization.\n"
    replace_once(copy.source.parent / module, place, textwrap.indent(row, "    ") + place)
    assert copy.changed() == {*map(file_of, CHANGES[recipe.title])}
    assert copy.python("-c", _ASK_RULE).split() == ["False", "True", "True"]
    assert "Headers end with a note." in copy.python("-m", "opwright", "releases", "2.13.0", "2.14.0")
