"""A field of entries that the recipe of `docs/contributing.md` adds, in a copy of the package on disk."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from textwrap import indent
from typing import Final

import pytest

import opwright
from tests.engine.project import Project, WholeProject, files_of, replace_once
from tests.recipes import recipes

#: The lines behind which the blocks of the recipe go, by file.
PLACES: Final = {
    "model/native_function.py": "    tags: frozenset[str] = frozenset()\n",
    "dialects/native_functions/fields.py": '    EntryField(TAGS_FIELD, _read_tags, "tags"),\n',
    "emit/aten/register/devices.py": (
        '    """Check, the initialization of the device, and the guard of a wrapper that calls a kernel."""\n'
    ),
}

SHIFTED: Final = "- func: shifted(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor\n"
RECORDED: Final = f"{SHIFTED}  recorded: True\n"

#: The files with the kernels of the operator, and of the out overload that is made from it.
RECORDING: Final = {
    *("RegisterCPU_2.cpp", "RegisterCPUEverything.cpp"),
    *("RegisterCompositeExplicitAutograd_0.cpp", "RegisterCompositeExplicitAutogradEverything.cpp"),
}

#: What importers of `opwright.torchgen.model` see of the field.
RECORDS: Final = """
import dataclasses
from opwright.torchgen.model import Location, NativeFunction
function, _ = NativeFunction.from_yaml({"func": "f(Tensor x) -> Tensor", "recorded": True}, Location("a", 1), set())
copy = dataclasses.replace(function, python_module="nn")
plain, _ = NativeFunction.from_yaml({"func": "f(Tensor x) -> Tensor"}, Location("a", 1), set())
print(function.recorded, copy.recorded, plain.recorded)
from opwright.torchgen.interface.functions import model_function
print(model_function(copy).recorded, model_function(plain).recorded)
"""

#: A field of library files: its row, and the attribute.
LIBRARY_FIELD: Final = {
    "libraries/dialect/fields.py": (
        "ROWS: Final = (\n",
        '    EntryField(Field("noted", "flag", FLAG, "A note."), lambda node, _: node.value == "True", "noted"),\n',
    ),
    "libraries/entry_fields.py": ("    reference: Reference | None = None\n", "    noted: bool = False\n"),
}

#: One entry for each way to make operators from it.
MAKERS: Final = """\
namespace: acme
operators:
- func: mean(Tensor self) -> (Tensor mean, Tensor count)
  outputs: {mean: {like: self}, count: {like: self}}
  saved: [count]
  dispatch: {CPU: mean_cpu}
- func: norm(Tensor! result, Tensor input) -> ()
  outputs: {result: {like: input}}
  contracts: [functional, out]
  dispatch: {CPU: norm_cpu}
- func: scale(Tensor! result, Tensor self) -> ()
  outputs: {result: {like: self}}
  contracts: [inplace]
  dispatch: {CPU: scale_cpu}
- func: shifted(Tensor self) -> Tensor
  autogen: shifted.out
  dispatch: {CPU: shifted_cpu}
- func: fill_(Tensor(a!) self) -> Tensor(a!)
  autogen: fill, fill.out
  dispatch: {CPU: fill_cpu}
"""

#: Prints each operator of a library file, whether it is made, and the two fields.
OPERATORS: Final = """
import sys
import opwright
from opwright.run.generation import Generation
from opwright.run.request import Request
from opwright.source.text import SourceFile
request = Request(opwright.open_inputs(), {}, ("library",), libraries=(SourceFile.read(sys.argv[1]),))
for function in Generation(request).job.catalog:
    print(function.name, function.is_synthesized, function.recorded, function.library_fields.noted)
"""


class Copy:
    """A copy of the package with the field."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.package = folder / "opwright"
        shutil.copytree(Path(opwright.__file__).parent, self.package)
        recipe = recipes()["Add a field of an entry"]
        assert set(recipe.changed) == PLACES.keys()
        for (name, place), block in zip(PLACES.items(), recipe.blocks, strict=True):
            replace_once(self.package / name, place, place + indent(block, "    "))
        for name, (place, line) in LIBRARY_FIELD.items():
            replace_once(self.package / name, place, place + line)

    def python(self, *words: str, status: int = 0) -> str:
        """What Python prints with the copy on its path."""
        environment = {**os.environ, "PYTHONPATH": str(self._folder), "NO_COLOR": "1"}
        done = subprocess.run([sys.executable, *words], capture_output=True, text=True, env=environment, check=False)
        assert done.returncode == status, done.stderr
        return done.stdout + done.stderr

    def run(self, *words: object, status: int = 0) -> str:
        """What the program of the copy prints."""
        return self.python("-m", "opwright", *map(str, words), status=status)


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Copy:
    """A copy of the package, changed as the recipe says."""
    return Copy(tmp_path_factory.mktemp("copy"))


def test_an_edited_value_regenerates_its_files(copy: Copy, tmp_path: Path, reference_inputs: Path) -> None:
    """The value is in the output, and a run after an edit of it leaves what a fresh run writes."""
    project = Project(tmp_path, reference_inputs)
    copy.run(*project.words("--jobs", "1"))
    before = files_of(project.out)
    for number, (old, new) in enumerate([(SHIFTED, RECORDED), (RECORDED, SHIFTED)]):
        project.edit(old, new)
        copy.run(*project.words("--jobs", "1"))
        fresh = tmp_path / f"fresh{number}"
        copy.run(*project.words("--jobs", "1", out=fresh))
        assert files_of(project.out) == files_of(fresh)
        changed = {Path(path).name for path, text in files_of(fresh).items() if text != before[path]}
        assert changed == (RECORDING if new == RECORDED else set())
        texts = b"".join(text for path, text in files_of(fresh).items() if "RegisterCPU_" in path)
        assert texts.count(b'RECORD_FUNCTION("wrapper_CPU__shifted"') == (new == RECORDED)


def test_wrong_values_and_names_are_diagnostics(copy: Copy, tmp_path: Path, reference_inputs: Path) -> None:
    """Another value than a flag, and a name that is nearly that of the field, are reported at their places."""
    project = Project(tmp_path, reference_inputs)
    project.edit(SHIFTED, f"{SHIFTED}  recorded: often\n")
    said = copy.run(*project.words("--jobs", "1"), status=1)
    assert "not True or False" in said
    project.edit("  recorded: often\n", "  recordet: True\n")
    assert "did you mean `recorded`?" in copy.run(*project.words("--jobs", "1"), status=1)
    assert not project.out.exists()


def test_the_schemas_have_the_field(copy: Copy) -> None:
    """Every dialect whose entries are those of PyTorch has the field in its JSON Schema, and so have dumps."""
    kinds = ("native_functions", "library", "executorch", "dump")
    program = f"from opwright.cli.main import main\nfor kind in {kinds}: main(['schema', kind])"
    sentence = '"description": "Whether wrappers tell the profiler of calls."'
    assert copy.python("-c", program).count(sentence) == len(kinds)


@pytest.mark.thorough
def test_tools_show_the_field(copy: Copy, tmp_path: Path, reference_inputs: Path) -> None:
    """A dump, a difference, an explanation and the records of importers have the value."""
    project = WholeProject(tmp_path, reference_inputs)
    shutil.copy(project.yaml, tmp_path / "old.yaml")
    project.edit(SHIFTED, RECORDED)
    where = ("--source-path", project.inputs, "--release", "2.13")
    dump = json.loads(copy.run("dump", *where))
    assert {row["name"] for row in dump["operators"] if row.get("recorded")} == {"shifted", "shifted.out"}
    difference = copy.run("diff", tmp_path / "old.yaml", project.yaml, "--all")
    assert "its `recorded` is `True` instead of `False`" in difference
    assert "wrappers tell the profiler of calls" in copy.run("explain", "shifted", *where)
    assert "recorded: True" in copy.run("explain", "shifted", "--passes", *where)
    assert copy.python("-c", RECORDS).split() == ["True", "True", "False", "True", "False"]


def test_every_made_operator_has_the_fields(copy: Copy, tmp_path: Path) -> None:
    """What `saved`, `contracts` and `autogen` make of an entry has the values of fields that nobody told them of."""
    path = tmp_path / "library.yaml"
    path.write_text(re.sub("(?m)^- func: .*$", r"\g<0>\n  recorded: True\n  noted: True", MAKERS), encoding="utf-8")
    rows = [line.split() for line in copy.python("-c", OPERATORS, str(path)).splitlines()]
    made = {name for name, is_made, _, _ in rows if is_made == "True"}
    assert made == {"mean", "norm.functional", "norm.out", "scale_", "shifted.out", "fill", "fill.out"}
    assert [row for row in rows if row[2:] != ["True", "True"]] == []
