"""The forms of reports: text in 80 columns, JSON with a stable form, CSV."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from opwright.backends.operator_records import BackwardStatus, MetaSupport, OperatorStatus, Query, TrapKind
from opwright.backends.wrapper_options import Fallback
from opwright.cli.main import main
from opwright.run.request import Request
from opwright.source.diagnostic import Diagnostics
from opwright.source.text import SourceFile
from opwright.tools.check import checking
from opwright.tools.check.checking import load_coverage
from opwright.tools.coverage import formats
from tests.tools.coverage.reports import installed, installed_job, report_of

FILE = """\
backend: PrivateUse1
cpp_namespace: acme
supported:
- tanh
- relu_
- mul.out
- convolution_overrideable
"""

Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def _loaded_operators(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each run finds the operators of the installed release loaded, which is most of its work."""
    monkeypatch.setattr(checking, "load_job", lambda *_: installed_job())


def run(tmp_path: Path, *arguments: str) -> int:
    """The exit status of the program for a small backend."""
    file = tmp_path / "acme.yaml"
    file.write_text(FILE, encoding="utf-8")
    return main(["coverage", "--backend", str(file), *arguments])


def test_the_summary_counts_every_operator_once(tmp_path: Path, capsys: Capture) -> None:
    """The summary fits 80 columns, and its numbers add up to the number of operators."""
    assert run(tmp_path, "--fallback", "cpu") == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[0] == f"PrivateUse1 on PyTorch {report_of('relu').release}: CPU fallback, which refuses views"
    heads = ("Operators, by what runs", "Backward", "Shapes while tracing")
    for head in heads:
        start = next(index for index, line in enumerate(lines) if line.startswith(f"{head}: "))
        total = int(lines[start].rpartition(" ")[2].replace(",", ""))
        rows = lines[start + 1 : lines.index("", start)]
        numbers = [row.split()[1].replace(",", "") for row in rows if row[2] != " "]
        assert sum(map(int, numbers)) == total == len(report_of("relu").records)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        (["--only", "kernel"], ["convolution_overrideable", "mul.out", "relu_", "tanh"]),
        (["mul.*"], ["mul.out", "mul.Scalar", "mul.Scalar_out", "mul.Tensor"]),
        (["mul", "--only", "kernel"], ["mul.out"]),
        (["--trap", "any", "relu*", "tanh"], ["relu_", "tanh"]),
        (["--trap", "inplace_alone"], ["relu_"]),
        (["--backward", "lacks", "--only", "kernel"], ["convolution_overrideable", "relu_", "tanh"]),
        (["--only", "kernel", "--only", "by_functional", "tanh*"], ["tanh", "tanh_", "tanh.out"]),
        (["no_such_operator"], []),
    ],
)
def test_choices_list_operators(tmp_path: Path, capsys: Capture, arguments: list[str], names: list[str]) -> None:
    """Names, patterns, statuses and traps choose the operators that every form has."""
    assert run(tmp_path, "--format", "csv", *arguments) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert sorted([row["name"] for row in rows]) == sorted(names)
    assert run(tmp_path, *arguments) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1].startswith(f"{len(names)} of ")
    assert max(map(len, lines)) <= 80
    listed = [line.split()[0] for line in lines[:-1] if not line.startswith(" ")]
    assert sorted(listed) == sorted(names)


def test_a_list_says_what_is_missing(tmp_path: Path, capsys: Capture) -> None:
    """Below an operator, a list says which operators it and its backward need, and what to write."""
    assert run(tmp_path, "tanh", "sub.Tensor", "--only", "kernel", "--only", "missing") == 0
    assert (
        capsys.readouterr().out == """\
sub.Tensor                              missing
    calls sub.out, which is missing
tanh                                    kernel        backward lacks
    backward of `tanh` calls `tanh_backward.grad_input`, which the backend
    lacks; add `tanh_backward.grad_input`
"""
        f"2 of {len(report_of('relu').records):,} operators\n"
    )


def test_json_has_a_stable_form() -> None:
    """The fields of JSON and the names in it are those that its format number promises."""
    report = report_of("tanh relu_", fallback="cpu")
    data = json.loads(formats.render_json(report, report.records))
    assert list(data) == ["format", "backend", "torch", "summary", "needed", "operators"]
    assert data["format"] == 1
    assert data["backend"] == {
        "name": "PrivateUse1",
        "key": "PrivateUse1",
        "file": "acme.yaml",
        "fallback": "cpu",
        "fallback_views": "error",
    }
    assert data["summary"]["operators"] == len(data["operators"]) == sum(data["summary"]["status"].values())
    assert list(data["summary"]["status"]) == [member.name for member in OperatorStatus]
    assert list(data["summary"]["backward"]) == [member.name for member in BackwardStatus]
    assert list(data["summary"]["meta"]) == [member.name for member in MetaSupport]
    assert list(data["summary"]["traps"]) == [member.name for member in TrapKind]
    tanh = next(operator for operator in data["operators"] if operator["name"] == "tanh")
    assert tanh == {
        "name": "tanh",
        "schema": "aten::tanh(Tensor self) -> Tensor",
        "status": "kernel",
        "key": "PrivateUse1",
        "kernel": "acme::tanh",
        "through": "",
        "lacks": "",
        "backward": {"status": "works", "calls": ["tanh_backward"], "helpers": [], "lacks": []},
        "meta": "structured",
        "keys": [],
        "view": False,
        "tags": ["core", "pointwise", "pt2_compliant_tag"],
        "line": 4,
        "traps": [],
    }
    needed = next(operator for operator in data["needed"] if operator["name"] == "_copy_from")
    assert needed["status"] == "fallback"
    assert needed["breaks"].startswith("the process crashes")


def test_json_without_operators_is_json() -> None:
    """A choice that leaves no operator gives an empty list."""
    data = json.loads(formats.render_json(report_of("relu"), []))
    assert data["operators"] == []


def test_rows_of_csv_have_a_field_for_each_column() -> None:
    """Schemas with commas and quotation marks stay one field."""
    report = report_of("tanh")
    rows = list(csv.reader(io.StringIO(formats.render_csv(report, report.records), newline="")))
    assert rows[0] == list(formats.COLUMNS)
    assert {len(row) for row in rows} == {len(formats.COLUMNS)}
    assert len(rows) == len(report.records) + 1
    schemas = {row[0]: row[-1] for row in rows[1:]}
    assert schemas["add.Tensor"] == "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor"


def test_reports_are_the_same_each_time() -> None:
    """A report does not depend on what was reported before."""
    report = report_of("tanh")
    everything = Query()
    records = [record for record in report.records if everything.selects(record)]
    assert formats.render_text(report, records) == formats.render_text(report, report.records)
    assert everything.is_empty


def test_a_file_with_mistakes_has_no_report(tmp_path: Path, capsys: Capture) -> None:
    """Mistakes in the backend file are reported at their places, and the program fails."""
    file = tmp_path / "acme.yaml"
    file.write_text(FILE + "- no_such\n", encoding="utf-8")
    assert main(["coverage", "--backend", str(file)]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "acme.yaml:8:3" in captured.err


def test_reports_are_written_to_files(tmp_path: Path, capsys: Capture) -> None:
    """`--out` writes the report to a file, and prints nothing."""
    out = tmp_path / "report.json"
    assert run(tmp_path, "--format", "json", "--out", str(out)) == 0
    assert capsys.readouterr().out == ""
    assert json.loads(out.read_text(encoding="utf-8"))["format"] == 1


def test_missing_python_modules_are_reported(tmp_path: Path, capsys: Capture) -> None:
    """With nothing but YAML, the report says that it does not know all operators that have shapes."""
    copied = tmp_path / "ATen"
    (copied / "native").mkdir(parents=True)
    (tmp_path / "autograd").mkdir()
    for name in ("native/native_functions.yaml", "native/tags.yaml"):
        (copied / name).write_text(installed().read_text(name).text, encoding="utf-8")
    derivatives = installed().read_text("autograd/derivatives.yaml").text
    (tmp_path / "autograd" / "derivatives.yaml").write_text(derivatives, encoding="utf-8")
    assert run(tmp_path, "--source-path", str(copied), "--release", "2.13.0", "relu") == 0
    captured = capsys.readouterr()
    assert "relu" in captured.out
    assert "W1373" in captured.err


def test_the_example_has_what_a_device_needs() -> None:
    """Nothing that every device needs breaks with the example of a backend."""
    path = Path(__file__).resolve().parents[3] / "examples" / "backend" / "acme.yaml"
    sink = Diagnostics()
    report = load_coverage(Request(installed(), {}, backends=(SourceFile.read(str(path)),)), sink, Fallback.cpu)
    assert {needed.record.name: needed.breaks for needed in report.needed if needed.breaks} == {}
    kinds = (TrapKind.needed, TrapKind.view_fallback, TrapKind.composite_override)
    assert [trap.message for trap in report.traps if trap.kind in kinds] == []


OWN = """\
backend: PrivateUse1
cpp_namespace: acme
namespace: acme
operators:
- func: scale(Tensor self, float factor) -> Tensor
- func: twice(Tensor self) -> Tensor
  dispatch: {CompositeImplicitAutograd: twice}
- func: thrice(Tensor self) -> Tensor
  dispatch: {PrivateUse1: "fast::thrice", AutogradPrivateUse1: thrice_autograd}
- func: clip(Tensor self) -> Tensor
  structured_delegate: clip.out
- func: clip.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
  structured: true
supported:
- torchvision::nms: {func: "nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"}
"""


def test_operators_of_other_libraries_are_listed(tmp_path: Path, capsys: Capture) -> None:
    """The backend's operators, and those of other libraries with an entry, are listed with their namespaces."""
    file = tmp_path / "acme.yaml"
    file.write_text(OWN, encoding="utf-8")
    assert main(["coverage", "--backend", str(file), "--format", "csv", "acme::*", "torchvision::*"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert {row["name"]: (row["status"], row["through"], row["backward"]) for row in rows} == {
        "acme::clip": ("by_out", "acme::clip.out", "unimplemented"),
        "acme::clip.out": ("structured", "", "none"),
        "acme::scale": ("kernel", "", "unimplemented"),
        "acme::thrice": ("kernel", "", "own"),
        "acme::twice": ("composite", "", "composite"),
        "torchvision::nms": ("kernel", "", "unknown"),
    }
