"""`docs/architecture.md` shows the code that a run calls, in that order, and the bytes that it writes."""

from __future__ import annotations

import ast
import json
import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from types import FrameType
from typing import NamedTuple

import pytest

import opwright
from opwright.emit.emitter import Options
from opwright.emit.registry import emitters
from opwright.files.plan import file_specs
from opwright.release.local import installed_generator

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = Path(opwright.__file__).parent
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8").split("\n## Laws\n")[0]
STEP = re.compile(r"(?ms)^\*\*(\d+)\.\*\* `([\w/]+\.py)`, `([\w.]+)`:(?:(?!```).)*^```python\n(.*?)^```")
ATEN = Path(installed_generator() or "") / "packaged" / "ATen"


class Function(NamedTuple):
    """A function of the page: where its code begins, its decorators included, and its lines."""

    path: str
    start: int
    lines: list[str]


@cache
def function(path: str, name: str) -> Function:
    """The function of a dotted name in a module. Fails if there is none."""
    text = (PACKAGE / path).read_text(encoding="utf-8")
    node: ast.AST = ast.parse(text)
    for part in name.split("."):
        node = next(child for child in ast.iter_child_nodes(node) if getattr(child, "name", "") == part)
    assert isinstance(node, ast.FunctionDef)
    start = min([node.lineno, *[decorator.lineno for decorator in node.decorator_list]])
    return Function(path, start, text.splitlines()[node.lineno - 1 : node.end_lineno])


def steps() -> list[tuple[Function, str]]:
    """The functions of the page with their excerpts, in order."""
    return [(function(path, name), excerpt) for _, path, name, excerpt in STEP.findall(PAGE)]


def block(language: str) -> str:
    """The only block of the page in a language."""
    (text,) = re.findall(rf"(?s)```{language}\n(.*?)```", PAGE)
    return str(text)


def test_steps_are_numbered() -> None:
    """Every excerpt of Python is one of a numbered step that names a function."""
    assert [int(number) for number, *_ in STEP.findall(PAGE)] == list(range(1, PAGE.count("```python") + 1))


@pytest.mark.parametrize("number", range(1, PAGE.count("```python") + 1))
def test_excerpts_are_in_the_source(number: int) -> None:
    """The parts of an excerpt are lines of its function, in their order; indentation aside."""
    found, excerpt = steps()[number - 1]
    source, position = without_indentation("\n".join(found.lines)), 0
    for part in re.split(r"(?m)^\.\.\.\n", excerpt):
        position = source.index(without_indentation(part), position)


def without_indentation(text: str) -> str:
    """The lines of a text without their indentation."""
    return "".join([f"\n{line.strip()}" for line in text.splitlines()]) + "\n"


def write(folder: Path) -> opwright.Generation:
    """A run with the operators `add` of the installed PyTorch alone, which writes the files of all operator classes."""
    from opwright.emit.aten import operators
    from opwright.release.inputs import open_inputs

    inputs = folder / "aten" / "src" / "ATen"
    shutil.copytree(ATEN, inputs)
    (folder / "torchgen" / "aoti").mkdir(parents=True)
    shutil.copy(ATEN.parents[1] / "aoti" / "fallback_ops.py", folder / "torchgen" / "aoti")
    native = inputs / "native" / "native_functions.yaml"
    entries = re.split(r"(?m)^(?=- func: )", native.read_text(encoding="utf-8"))
    names = ("add.Tensor", "add_.Tensor", "add.out")
    native.write_text("".join([entry for entry in entries if entry.startswith(tuple(f"- func: {n}(" for n in names))]))
    request = opwright.Request(
        open_inputs(source_path=str(inputs)),
        opwright.build_folders(str(folder / "build")),
        families=("headers", "sources"),
        options=Options(per_operator_headers=True),
        release="2.13",
    )
    generation = opwright.Generation(request)
    generation.write(chosen=[emitter for emitter in operators.emitters(generation.job) if emitter.family == "sources"])
    return generation


def print_calls(folder: str) -> None:
    """Print where the functions begin that a run calls, in the order of the first calls."""
    calls: dict[tuple[str, int], None] = {}

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            calls.setdefault((frame.f_code.co_filename, frame.f_code.co_firstlineno))

    sys.setprofile(note)
    write(Path(folder))
    sys.setprofile(None)
    print(json.dumps([*calls]))


def test_functions_are_called_in_this_order(tmp_path: Path) -> None:
    """A run calls the functions of the page in its order, each for the first time after the one before."""
    code = "import sys; from tests.test_path_of_an_entry import print_calls; print_calls(sys.argv[1])"
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    calls = [tuple(call) for call in json.loads(done.stdout)]
    places = [calls.index((str(PACKAGE / found.path), found.start)) for found, _ in steps()]
    assert places == sorted(places)


def test_bytes_and_entry(tmp_path: Path) -> None:
    """The entry is one of PyTorch's, and the C++ is in the file that the page names, and in no other shard."""
    assert block("yaml") in (ATEN / "native" / "native_functions.yaml").read_text(encoding="utf-8")
    generation = write(tmp_path)
    written = {path.name for path in tmp_path.rglob("build/**/*.cpp") if block("cpp") in path.read_text()}
    assert written == {"Operators_2.cpp", "OperatorsEverything.cpp"}
    assert "`Operators_2.cpp`" in PAGE
    rows = dict(re.findall(r"(?m)^\| `([\w./]+)` \| `([\w/]+\.py)` \|", PAGE))
    job = generation.job
    made = {}
    for emitter in emitters(job, ("headers", "sources")):
        for spec in file_specs(emitter, emitter.units(job)):
            if spec.path in rows and spec.units:
                maker = getattr(emitter.fragment, "func", emitter.fragment)
                made[spec.path] = maker.__module__.replace(".", "/").replace("opwright/", "", 1) + ".py"
    assert made == rows
