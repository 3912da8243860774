"""A new type of the schema language is one row: with its forms there is code, and without them a diagnostic."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from opwright.libraries.stubs import namespaces
from opwright.schema import base_types
from tests.engine.project import Project, WholeProject

#: A program like `opwright`, whose table of base types has one more row.
PROGRAM = """\
import importlib.util, sys
name = "opwright.schema.base_types"
spec = importlib.util.spec_from_file_location(name, {path!r})
table = sys.modules[name] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(table)
PythonForm = table.PythonForm
table.BASE_TYPE_ROWS += (table.BaseTypeRow("Event", {forms}),)
from opwright.cli.main import main
sys.exit(main(sys.argv[1:]))
"""

CPP = 'cpp="at::Event"'
PYTHON = f'{CPP}, python=PythonForm("Event", "Event", "event"), stub="_Event"'

ENTRY = """
- func: paused(Tensor self, Event event, Event? other=None) -> Tensor
  variants: function, method
  dispatch:
    CPU: paused_cpu
"""


@pytest.fixture
def project(tmp_path: Path, reference_inputs: Path) -> Project:
    """Inputs with an entry that has arguments of the new type."""
    project = WholeProject(tmp_path, reference_inputs)
    project.yaml.write_text(project.yaml.read_text() + ENTRY)
    return project


def generate(project: Project, forms: str, *families: str) -> subprocess.CompletedProcess[str]:
    """A run of the program with these forms of the type."""
    words = ["generate", "--source-path", project.inputs, "--release", "2.13", "--out", project.out, "--jobs", "1"]
    only = [word for family in families for word in ("--only", family)]
    command = [sys.executable, "-c", PROGRAM.format(path=base_types.__file__, forms=forms), *map(str, words), *only]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


def test_a_row_without_forms_is_reported_at_the_entry(project: Project) -> None:
    """The language has the type, and an entry with it is reported where it names it."""
    run = generate(project, "", "headers")
    assert run.returncode == 1
    assert "error[E0347]: `Event` of argument `event` has no form in C++" in run.stderr
    assert "native_functions.yaml:" in run.stderr
    assert "Traceback" not in run.stderr


def test_a_row_with_a_cpp_type_is_in_headers_and_sources(project: Project) -> None:
    """Functions, kernels and registrations take values of the C++ type of the row; other families have their own."""
    run = generate(project, CPP, "headers", "sources", "stubs", "declarations_yaml")
    assert run.returncode == 0, run.stderr
    folder = project.out
    texts = {path.name: path.read_text() for path in folder.rglob("*") if path.suffix in (".h", ".cpp", ".yaml")}
    parameters = "const at::Tensor & self, at::Event event, ::std::optional<at::Event> other"
    assert f"paused_cpu({parameters}=" in texts["paused_native.h"]
    assert f"call({parameters})" in texts["paused_ops.h"]
    assert any(f"wrapper_CPU__paused({parameters})" in text for name, text in texts.items() if "RegisterCPU" in name)
    assert "dynamic_type: at::Event" in texts["Declarations.yaml"]


def test_a_row_without_a_python_form_is_reported_at_the_entry(project: Project) -> None:
    """Bindings of Python need the parser's form of the type, and a method that reads it."""
    run = generate(project, CPP, "python")
    assert run.returncode == 1
    assert "E1024" in run.stderr
    assert "Traceback" not in run.stderr


def test_a_row_with_a_python_form_is_in_bindings_and_stubs(project: Project) -> None:
    """The parser's signature and its method come from the row, and so do annotations."""
    run = generate(project, PYTHON, "python", "stubs")
    assert run.returncode == 0, run.stderr
    text = "".join(path.read_text() for path in project.out.rglob("python_*.cpp"))
    assert "paused(Tensor input, Event event, Event? other=None)" in text
    assert "_r.event(1), _r.eventOptional(2)" in text
    stubs = "".join(path.read_text() for path in project.out.rglob("*.pyi"))
    assert "event: _Event, other: _Event | None = None" in stubs


def test_names_in_annotations_are_imported() -> None:
    """A stub has all names that the rows put into annotations."""
    forms = " ".join(f"{row.stub} {row.stub_result}" for row in base_types.BASE_TYPE_ROWS)
    assert set(re.findall(r"\b_\w+", forms)) <= set(re.findall(r"\b_\w+", namespaces._HEAD))
