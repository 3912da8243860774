"""Each file that a run opens is one whose edits the next run follows, whatever the form of the run."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import pytest

import opwright
from opwright.cli.main import main
from opwright.incremental.identity import InputStamps
from opwright.incremental.state import manifest_paths, read_manifest
from opwright.mobile.executorch_choices import ExecutorchFiles
from opwright.model.selection import SelectedOperator, Selection
from opwright.plugins.discovery import load_plugin
from opwright.run.request import request_facts
from opwright.source.text import SourceFile
from tests.engine.project import WholeProject, files_of

ROOT: Final = Path(__file__).parents[2]
TEMPLATES: Final = Path(opwright.__file__).parent / "libraries/emit/templates"
EXECUTORCH: Final = ROOT / "tests/executorch/source/templates"
_KERNELS: Final = "- op: add.out\n  kernels:\n    - arg_meta: null\n      kernel_name: mine::add_out\n"

LIBRARY: Final = """\
namespace: acme
derivatives: derivatives.yaml
operators:
- func: twice(Tensor self) -> Tensor
  outputs: {like: self}
  dispatch: {CPU: twice_cpu}
"""

#: The forms of runs: the module of a program, and its words. What each names is in the folder of the test.
FORMS: Final[dict[str, tuple[str, Sequence[str]]]] = {
    "library": ("opwright.cli.main", ["generate", "--library", "library/acme.yaml"]),
    "library with templates": (
        "opwright.cli.main",
        ["generate", "--library", "own.yaml", "--templates", "templates"],
    ),
    "backend": ("opwright.cli.main", ["generate", "--backend", "backend/acme.yaml"]),
    "executorch": (
        "opwright.cli.main",
        ["generate", "--executorch", "kernels.yaml", "--templates", "executorch"],
    ),
    "whole": (
        "opwright.cli.main",
        [
            *("generate", "--source-path", "site/torchgen/packaged/ATen"),
            *[word for family in WholeProject.families for word in ("--only", family)],
        ],
    ),
    "installed": ("opwright.cli.main", ["generate", "--only", "declarations_yaml"]),
    "selection": (
        "opwright.cli.main",
        ["generate", "--only", "declarations_yaml", "--op-selection-yaml-path", "selection.yaml"],
    ),
    "plug-in with headers": (
        "opwright.cli.main",
        ["generate", "--only", "declarations_yaml", "--plugin", "plugins/op_hooks/op_hooks.py"],
    ),
    "plug-in with files": (
        "opwright.cli.main",
        [
            *("generate", "--plugin", "plugins/shim_list/shim_list.py", "--input", "plugins/shim_list/shims.yaml"),
            *("--backend", "plugins/shim_list/backend.yaml"),
        ],
    ),
}

AT: Final = ("-s", "packaged/ATen", "--release", "2.13")
#: The same of drop-in programs, which keep their state in the user's cache.
DROP_INS: Final[dict[str, tuple[str, Sequence[str]]]] = {
    "gen": ("opwright.torchgen.gen", [*AT, "-d", "out", "--generate", "declarations_yaml"]),
    "gen_backend_stubs": (
        "opwright.torchgen.gen_backend_stubs",
        ["-s", "stubs.yaml", "-o", "out"],
    ),
    "executorch": (
        "opwright.torchgen.executorch.gen",
        [
            *("-s", "source", "--functions-yaml-path", "kernels.yaml", "-d", "out"),
            *("--aten-yaml-path", "packaged/ATen/native/native_functions.yaml"),
            *("--tags-path", "packaged/ATen/native/tags.yaml", "--release", "2.13"),
        ],
    ),
}


@pytest.fixture
def folder(tmp_path: Path, reference_inputs: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with what the forms name."""
    monkeypatch.chdir(tmp_path)
    for name, source in {
        "library": ROOT / "examples/library",
        "backend": ROOT / "examples/backend",
        "plugins": ROOT / "examples/plugins",
        "templates": TEMPLATES,
        "executorch": EXECUTORCH,
        "source/templates": EXECUTORCH,
    }.items():
        shutil.copytree(source, name, ignore=shutil.ignore_patterns("csrc", "tests", "build"))
    Path("own.yaml").write_text(LIBRARY)
    Path("derivatives.yaml").write_text("- name: twice(Tensor self) -> Tensor\n  self: grad * 2\n")
    Path("kernels.yaml").write_text(_KERNELS)
    Path("selection.yaml").write_text("include_all_operators: true\n")
    Path("stubs.yaml").write_text("backend: XLA\ncpp_namespace: torch_xla\nsupported:\n- abs\n")
    return tmp_path


def read_files(form: tuple[str, Sequence[str]], *more: str) -> tuple[list[str], list[str]]:
    """Files that a form opens: those whose stamps it has, and the others."""
    module, words = form
    environment = {**os.environ, "OPWRIGHT_CACHE_DIR": "cache", "PYTHONPATH": str(ROOT), "NO_COLOR": "1"}
    command = [sys.executable, "-m", "tests.engine.reading", module, f"out{os.pathsep}cache", *words, *more]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    status, known, unknown = json.loads(done.stdout.splitlines()[-1])
    assert not status, done.stderr
    return known, unknown


#: The forms that load few operators.
QUICK: Final = ("library with templates", "executorch", "whole")


@pytest.mark.parametrize("name", [pytest.param(n, marks=() if n in QUICK else pytest.mark.thorough) for n in FORMS])
def test_every_read_file_has_a_stamp(name: str, folder: Path, reference_inputs: Path) -> None:
    """No file that `generate` opens is without a stamp, and an edit of any of the user's is followed."""
    if name == "whole":
        WholeProject(folder, reference_inputs)
    known, unknown = read_files(FORMS[name], "--out", "out", "--jobs", "1")
    assert unknown == []
    mine = [Path(path) for path in known if path.startswith(f"{folder}{os.sep}") and os.path.isfile(path)]
    assert mine or name == "installed"
    (state,) = manifest_paths("out/.opwright")
    data, _ = read_manifest(state)
    for path in mine:
        before = path.read_bytes()
        path.write_bytes(before + b"\n")
        assert not InputStamps.from_manifest(data["files"], data["folders"]).are_current(), path
        path.write_bytes(before)
    assert InputStamps.from_manifest(data["files"], data["folders"]).are_current()


@pytest.mark.thorough
@pytest.mark.parametrize("name", DROP_INS)
def test_every_file_that_a_drop_in_reads_has_a_stamp(name: str, folder: Path, reference_inputs: Path) -> None:
    """The same of drop-in programs."""
    shutil.copytree(reference_inputs.parent, folder / "packaged")
    _, unknown = read_files(DROP_INS[name])
    assert unknown == []


def test_an_edited_template_is_followed(folder: Path) -> None:
    """A run after an edit of each template of `--templates` writes what a run into an empty folder writes."""
    words = [*FORMS["library with templates"][1], "--jobs", "1"]
    assert main([*words, "--out", "out"]) == 0
    for template in Path("templates").iterdir():
        template.write_text(f"{template.read_text()}\n")
    before = files_of(folder / "out")
    assert main([*words, "--out", "out"]) == main([*words, "--out", "fresh"]) == 0
    assert before != files_of(folder / "out") == files_of(folder / "fresh")


def request_of(**more: object) -> opwright.Request:
    """A request for the library in the folder."""
    files = (SourceFile.read("own.yaml"),)
    folders = opwright.build_folders("out", ("library",))
    request = opwright.Request(opwright.open_inputs(), folders, ("library",), libraries=files)
    return request._replace(**more)  # type: ignore[arg-type]


#: Another value than the default for each field of a request, but the kind of its run, of which states are kept apart.
OTHERS: Final[dict[str, Callable[[], object]]] = {
    "inputs": lambda: opwright.open_inputs(source_path="packaged/ATen"),
    "options": lambda: opwright.Options(rocm=True),
    "selection": lambda: Selection(everything=False, operators={"acme::twice": SelectedOperator("acme::twice")}),
    "tolerant": lambda: True,
    "strict": lambda: True,
    "refuses_edits": lambda: True,
    "devices": lambda: frozenset(["mps"]),
    "release": lambda: "2.13.0",
    "libraries": lambda: (SourceFile("own.yaml", LIBRARY.replace("twice_cpu", "other_cpu")),),
    "operator_files": lambda: (SourceFile("more.yaml", "- func: g(Tensor self) -> Tensor\n"),),
    "namespaces": lambda: ("acme",),
    "backends": lambda: (SourceFile("backend.yaml", "backend: XLA\n"),),
    "guests": lambda: (ExecutorchFiles(functions=(SourceFile("kernels.yaml", _KERNELS),)),),
    "templates": lambda: "templates",
    "read_file": lambda: lambda path: SourceFile.read(path),
    "allowed_paths": lambda: ("/elsewhere",),
    "format_file": lambda: lambda path, data: data,
    "plugins": lambda: (load_plugin("plugins/op_hooks/op_hooks.py"),),
    "input_files": lambda: (SourceFile("more.yaml", "- a\n"),),
}


def test_each_field_tells_requests_apart(folder: Path, reference_inputs: Path) -> None:
    """A request that differs in one field is another one, whichever field it is: this fails for one that is added."""
    shutil.copytree(reference_inputs.parent, folder / "packaged")
    assert OTHERS.keys() | {"folders", "families", "shard"} == set(opwright.Request._fields)
    facts = request_facts(request_of())
    assert facts == request_facts(request_of())
    for name, other in OTHERS.items():
        different = request_facts(request_of(**{name: other()}))
        assert [key for key in facts if facts[key] != different[key]] == [name]


def test_a_value_that_cannot_be_told_is_an_error(folder: Path) -> None:
    """An object of a type that is new to the state ends the run where it is met."""
    with pytest.raises(TypeError, match="`object`"):
        request_facts(request_of(release=object()))


def test_other_templates_and_formatters_are_other_runs(folder: Path) -> None:
    """From Python, a run with other templates or another formatter writes its own bytes."""

    def texts(**more: object) -> dict[str, bytes]:
        outcome = opwright.generate(request_of(**more), "out", jobs=1)
        return {path: Path(path).read_bytes() for path in outcome.statuses}

    plain = texts()
    for template in Path("templates").iterdir():
        template.write_text(f"{template.read_text()}\n")
    other = texts(templates="templates")
    assert plain != other
    formatted = [texts(format_file=lambda _, data, end=end: data + end) for end in (b"\n", b"\n\n")]
    assert formatted == [{path: text + end for path, text in plain.items()} for end in (b"\n", b"\n\n")]
    assert texts() == plain
