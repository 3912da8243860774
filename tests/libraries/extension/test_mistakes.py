"""Mistakes that authors make are answered at their places before a compiler runs, and the corrections are right.

`mistakes.yaml` is the table of them.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

import opwright
from opwright.cli.main import main
from opwright.libraries.extension.build_mistakes import files_that_define
from opwright.libraries.extension.generated import check_kernels
from opwright.source.diagnostic import FaultsFound
from opwright.source.text import SourceFile
from tests.compile.compiler import compiler_program

TABLE: dict[str, list[dict[str, str]]] = yaml.safe_load(Path(__file__).with_name("mistakes.yaml").read_text())
HEAD = "namespace: acme\nderivatives: derivatives.yaml\noperators:\n"
SCHEMA = "f(Tensor x, Tensor w, float scale=1.0, int n=1) -> Tensor"


def library_file(kind: str, text: str) -> str:
    """The library file that has a text of a kind in its place."""
    if kind == "formula":
        return f'{HEAD}- func: {SCHEMA}\n  dispatch: {{CPU: f}}\n  dims: {{x: "*b d", w: d, return: "*b d"}}\n'
    fields = {
        "dispatch": "dispatch: {CPU: f}",
        "dims": "dims: {x: '*b', return: '*b'}",
    }
    schema = text if kind == "entry" else "f(Tensor x) -> Tensor"
    if kind == "fields":
        name = text.partition(":")[0]
        fields.pop("dims" if name.startswith("output") else name, None)
        fields["written"] = text
    lines = "".join([f"  {field}\n" for field in fields.values()])
    return f'namespace: acme\noperators:\n- func: "{schema}"\n{lines}'


def findings(kind: str, text: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    """What `opwright check` finds, as JSON."""
    (folder / "operators.yaml").write_text(library_file(kind, text))
    names = [str(folder / "operators.yaml")]
    if kind == "formula":
        (folder / "derivatives.yaml").write_text(f"- name: {SCHEMA}\n  x: >-\n    {text}\n  w: non_differentiable\n")
        names.append(str(folder / "derivatives.yaml"))
    capsys.readouterr()
    main(["check", "--format", "json", *names])
    found: list[dict[str, Any]] = json.loads(capsys.readouterr().out)["diagnostics"]
    return found


def faults(row: dict[str, str], kind: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """What is not as the row of the table says: code, place, help, or findings about the correction."""
    wrong = []
    found = findings(kind, row["wrong"], folder, capsys)
    answers = [diagnostic for diagnostic in found if diagnostic["code"] == row["code"]]
    if not answers or row["help"] not in str(answers[0]["help"]):
        wrong.append(f"{row['wrong']}: {[(diagnostic['code'], diagnostic['help']) for diagnostic in found]}")
    elif not answers[0]["place"]["start"]["column"] > 1:
        wrong.append(f"{row['wrong']}: no place")
    left = findings(kind, row["right"], folder, capsys)
    return [*wrong, *[f"{row['right']}: {diagnostic['code']} {diagnostic['message']}" for diagnostic in left]]


@pytest.mark.parametrize("kind", ["formula", "entry", "fields"])
def test_mistakes_are_answered_at_their_places(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each has its code, a place and a help, and the correction has no findings."""
    assert len(TABLE[kind]) >= 10
    assert [fault for row in TABLE[kind] for fault in faults(row, kind, tmp_path, capsys)] == []


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A new project."""
    folder = tmp_path_factory.mktemp("mistakes") / "acme_ops"
    assert main(["new", "library", "acme_ops", str(folder)]) == 0
    return folder


def built(folder: Path) -> str:
    """What a build in place says of a project. No compiler runs."""
    environment = {**os.environ, "CXX": "no-compiler", "NO_COLOR": "1"}
    command = [sys.executable, "setup.py", "-q", "build_ext", "--inplace"]
    return subprocess.run(command, cwd=folder, env=environment, text=True, capture_output=True, check=False).stderr


def _build_rows() -> list[Any]:
    """Builds with mistakes; the first of each code is not thorough."""
    codes = [row["code"] for row in TABLE["build"]]
    return [
        pytest.param(
            row,
            id=f"{row['file']} {row['code']} {number}",
            marks=[] if row["code"] not in codes[:number] else pytest.mark.thorough,
        )
        for number, row in enumerate(TABLE["build"])
    ]


@pytest.mark.parametrize("row", _build_rows())
def test_builds_say_where_a_mistake_is(row: dict[str, str], project: Path, tmp_path: Path) -> None:
    """A build ends before it compiles, with the code, the place and the help of the table."""
    folder = shutil.copytree(project, tmp_path / "acme_ops")
    path = folder / row["file"]
    text = path.read_text()
    assert text.count(row["text"]) == 1
    path.write_text(text.replace(row["text"], row["wrong"]))
    report = built(folder)
    assert report.count("error[") == 1, report
    assert f"error[{row['code']}]" in report, report
    assert f"--> {row['file']}:" in report or f"::: {row['file']}:" in report, report
    assert row["help"] in report, report


@pytest.mark.thorough
def test_other_registrations_of_sources_are_none_of_the_library(project: Path, tmp_path: Path) -> None:
    """What a source registers beside the library's operators, in a comment, or under a condition, may stay."""
    folder = shutil.copytree(project, tmp_path / "acme_ops")
    source = folder / "csrc/kernels.cpp"
    others = """
// TORCH_LIBRARY(acme_ops, m) { m.def("soft_clip(Tensor self) -> Tensor"); }
TORCH_LIBRARY_FRAGMENT(acme_ops, m) { m.def("soft_clips(Tensor self) -> Tensor"); m.impl("soft_clip", f); }
TORCH_LIBRARY(acme_opses, m) { m.def("soft_clip(Tensor self) -> Tensor"); }
#ifdef WITH_PYTHON
PYBIND11_MODULE(acme, m) { m.def("soft_clip", &f); }
TORCH_LIBRARY_FRAGMENT(acme_ops, m) { m.def("soft_clip(Tensor self) -> Tensor"); }
#endif
"""
    source.write_text(source.read_text() + others)
    report = built(folder)
    assert re.findall(r"error\[\w+\]: .*", report) == [
        "error[E1202]: the C++ compiler `no-compiler`, which CXX names, does not exist"
    ]


def test_the_linker_is_told_where_a_function_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A function that no source defines is looked for in the other files of the project, and not in headers."""
    monkeypatch.chdir(tmp_path)
    for name, text in {
        "csrc/kernels.cpp": "int scale(int x) { return x; }",
        "csrc/more.cpp": "namespace a {\nint scale(int x)\n{ return x; }}",
        "csrc/calls.cpp": "int f() { return scale(1); } int scale(int);",
        "csrc/scale.h": "inline int scale(int x) { return x; }",
        "build/other.cpp": "int scale(int x) { return x; }",
    }.items():
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text(text)
    assert files_that_define("scale", ["./csrc/kernels.cpp"]) == ["csrc/more.cpp"]


def test_kernels_are_compared_before_the_compiler_runs() -> None:
    """A kernel with other types than its entry asks for is an error with both places; the right one is none."""
    yaml_text = library_file("entry", "f(Tensor x, float s) -> Tensor")
    library = SourceFile("operators.yaml", yaml_text)
    accepted = []
    for row in TABLE["kernel"]:
        sources = {
            form: SourceFile("kernels.cpp", f"namespace acme::native {{\n{row[form]} {{ throw 1; }}\n}}\n")
            for form in ("wrong", "right")
        }
        check_kernels([library], [sources["right"]])
        try:
            check_kernels([library], [sources["wrong"]])
        except FaultsFound as error:
            [diagnostic] = error.diagnostics
            assert diagnostic.code == "E1210"
            assert {label.span.file.path for label in diagnostic.labels} == {"operators.yaml", "kernels.cpp"}
        else:
            accepted.append(row["wrong"])
    assert accepted == []


@pytest.mark.thorough
@pytest.mark.skipif(compiler_program() is None, reason="there is no C++ compiler")
def test_corrections_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All corrected formulas are one library, which is built and differentiates."""
    monkeypatch.setenv("OPWRIGHT_CACHE_DIR", str(tmp_path))
    entries, kernels, derivatives = [], [], []
    for number, row in enumerate(TABLE["formula"]):
        schema = SCHEMA.replace("f(", f"f{number}(", 1)
        dims = '{x: "*b d", w: d, return: "*b d"}'
        entries.append(f"- func: {schema}\n  dispatch: {{CPU: f{number}}}\n  dims: {dims}\n")
        parameters = "const at::Tensor& x, const at::Tensor& w, double scale, int64_t n"
        kernels.append(f"at::Tensor f{number}({parameters}) {{ return x * w * scale; }}\n")
        derivatives.append(f"- name: {schema}\n  x: >-\n    {row['right']}\n  w: non_differentiable\n")
    library = f"namespace: mistakes\noperators:\n{''.join(entries)}"
    source = f"namespace mistakes::native {{\n{''.join(kernels)}}}\n"
    mistakes = opwright.inline(library, source, derivatives="".join(derivatives))
    torch = pytest.importorskip("torch")
    for number in range(len(entries)):
        x = torch.ones(2, 3, requires_grad=True)
        getattr(mistakes, f"f{number}")(x, torch.ones(3)).sum().backward()
        assert x.grad.shape == x.shape, TABLE["formula"][number]["right"]
