"""Comparisons: each difference between two files is reported with those whom it breaks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

import pytest

from opwright.cli.main import main
from opwright.cli.schema import schema_text
from opwright.source.diagnostic import Diagnostics
from opwright.tools.diff.compare import compare
from opwright.tools.diff.diffing import load_side
from opwright.tools.diff.records import Audience, OperatorChange

HEAD = "  dispatch:\n    CPU: kernel\n"


class Case(NamedTuple):
    """An edit of an operator, and what it breaks: reason -> audiences, each list in the order of the table."""

    old: str
    new: str
    reasons: dict[str, str]


CASES = {
    "argument renamed": Case(
        "f(Tensor self, int dim) -> Tensor",
        "f(Tensor self, int axis) -> Tensor",
        {"argument `dim` is replaced by `axis`": "python serialized forward"},
    ),
    "default changed": Case(
        "f(Tensor self, int dim=0) -> Tensor",
        "f(Tensor self, int dim=1) -> Tensor",
        {"the default of `dim` is `1` instead of `0`": "python cpp serialized forward"},
    ),
    "argument with default added": Case(
        "f(Tensor self) -> Tensor",
        "f(Tensor self, *, int dim=1) -> Tensor",
        {
            "kernels get the parameter `int64_t dim`": "kernel",
            "new argument `int dim=1`": "",
        },
    ),
    "argument without default added": Case(
        "f(Tensor self) -> Tensor",
        "f(Tensor self, int dim) -> Tensor",
        {
            "new argument `dim` has no default": "python cpp serialized forward",
            "kernels get the parameter `int64_t dim`": "kernel",
        },
    ),
    "keyword argument before another": Case(
        "f(Tensor self, *, int dim=1) -> Tensor",
        "f(Tensor self, *, Tensor? w=None, int dim=1) -> Tensor",
        {
            "parameter `dim` is `const ::std::optional<at::Tensor> &` instead of `int64_t` in C++": "cpp",
            "argument `w` is inserted before `dim`": "serialized forward",
            "kernels get the parameter `const ::std::optional<at::Tensor> & w`": "kernel",
            "new argument `Tensor? w=None`": "",
        },
    ),
    "symbolic integers": Case(
        "f(Tensor self, int dim) -> Tensor",
        "f(Tensor self, SymInt dim) -> Tensor",
        {"argument `dim` is `SymInt` instead of `int`": ""},
    ),
    "argument made optional": Case(
        "f(Tensor self, Tensor w) -> Tensor",
        "f(Tensor self, Tensor? w=None) -> Tensor",
        {
            "argument `w` is `Tensor?` instead of `Tensor`": "forward",
            "argument `w` has the default `None`": "forward",
            "parameter `w` of kernels is `const ::std::optional<at::Tensor> &` instead of `const at::Tensor &`": (
                "kernel"
            ),
        },
    ),
    "results named otherwise": Case(
        "f(Tensor self) -> (Tensor values, Tensor indices)",
        "f(Tensor self) -> (Tensor values, Tensor places)",
        {"return 1 is named `places` instead of `indices`": "python serialized"},
    ),
    "another type of result": Case(
        "f(Tensor self) -> (Tensor, int)",
        "f(Tensor self) -> (Tensor, float)",
        {
            "return 1 is `float` instead of `int`": "python serialized",
            "it returns `::std::tuple<at::Tensor,double>` instead of `::std::tuple<at::Tensor,int64_t>` in C++": "cpp",
            "kernels return `::std::tuple<at::Tensor,double>` instead of `::std::tuple<at::Tensor,int64_t>`": "kernel",
        },
    ),
    "optional types that hold more": Case(
        "f(Tensor self, int? n) -> Tensor",
        "f(Tensor self, Scalar? n) -> Tensor",
        {
            "argument `n` is `Scalar?` instead of `int?`": "forward",
            "parameter `n` of kernels is `const ::std::optional<at::Scalar> &` instead of `::std::optional<int64_t>`": (
                "kernel"
            ),
        },
    ),
    "types that hold more": Case(
        "f(Tensor self, int[1] d, bool b) -> Tensor",
        "f(Tensor self, int[1]? d, Scalar b) -> Tensor",
        {
            "argument `b` is `Scalar` instead of `bool`": "python serialized forward",
            "argument `d` is `int[1]?` instead of `int[1]`": "forward",
            "parameter `d` of kernels is `at::OptionalIntArrayRef` instead of `at::IntArrayRef`": "kernel",
            "parameter `b` of kernels is `const at::Scalar &` instead of `bool`": "kernel",
        },
    ),
    "argument removed": Case(
        "f(Tensor self, int dim=0) -> Tensor",
        "f(Tensor self) -> Tensor",
        {
            "argument `dim` is gone": "python cpp serialized",
            "kernels no longer get the parameter `int64_t dim`": "kernel",
        },
    ),
    "keyword argument removed": Case(
        "f(Tensor self, *, int dim=0) -> Tensor",
        "f(Tensor self) -> Tensor",
        {
            "argument `dim` is gone": "python cpp serialized",
            "kernels no longer get the parameter `int64_t dim`": "kernel",
        },
    ),
    "places swapped": Case(
        "f(Tensor self, int n, Tensor w) -> Tensor",
        "f(Tensor self, Tensor w, int n) -> Tensor",
        {
            "argument `n` has another place": "python serialized forward",
            "argument `w` has another place": "python serialized forward",
            "parameter `n` is `const at::Tensor &` instead of `int64_t` in C++": "cpp",
            "parameter `w` is `int64_t` instead of `const at::Tensor &` in C++": "cpp",
            "kernels take `(const at::Tensor &, const at::Tensor &, int64_t)`"
            " instead of `(const at::Tensor &, int64_t, const at::Tensor &)`": "kernel",
        },
    ),
    "passed by name only": Case(
        "f(Tensor self, int dim) -> Tensor",
        "f(Tensor self, *, int dim) -> Tensor",
        {
            "argument `dim` is passed by name only": "python serialized forward",
        },
    ),
    "another type": Case(
        "f(Tensor self, int dim) -> Tensor",
        "f(Tensor self, Tensor dim) -> Tensor",
        {
            "argument `dim` is `Tensor` instead of `int`": "python serialized forward",
            "parameter `dim` is `const at::Tensor &` instead of `int64_t` in C++": "cpp",
            "parameter `dim` of kernels is `const at::Tensor &` instead of `int64_t`": "kernel",
        },
    ),
    "size of a list": Case(
        "f(Tensor self, int[1] dim) -> Tensor",
        "f(Tensor self, int[] dim) -> Tensor",
        {
            "argument `dim` is `int[]` instead of `int[1]`": "python serialized forward",
        },
    ),
    "default removed": Case(
        "f(Tensor self, int dim=0) -> Tensor",
        "f(Tensor self, int dim) -> Tensor",
        {
            "argument `dim` has no default": "python cpp serialized forward",
        },
    ),
    "argument written": Case(
        "f(Tensor self, Tensor w) -> Tensor",
        "f(Tensor self, Tensor(a!) w) -> Tensor",
        {
            "argument `w` is now written": "python",
            "parameter `w` is `at::Tensor &` instead of `const at::Tensor &` in C++": "cpp",
            "argument `w` has another alias annotation": "serialized forward",
            "parameter `w` of kernels is `at::Tensor &` instead of `const at::Tensor &`": "kernel",
        },
    ),
    "no longer written": Case(
        "f(Tensor self, Tensor(a!) w) -> Tensor",
        "f(Tensor self, Tensor w) -> Tensor",
        {
            "argument `w` is no longer written": "python",
            "argument `w` has another alias annotation": "serialized forward",
            "parameter `w` of kernels is `const at::Tensor &` instead of `at::Tensor &`": "kernel",
        },
    ),
    "more results": Case(
        "f(Tensor self) -> Tensor",
        "f(Tensor self) -> (Tensor, Tensor)",
        {
            "2 returns instead of 1": "python serialized forward",
            "it returns `::std::tuple<at::Tensor,at::Tensor>` instead of `at::Tensor` in C++": "cpp",
            "kernels return `::std::tuple<at::Tensor,at::Tensor>` instead of `at::Tensor`": "kernel",
        },
    ),
    "result without name": Case(
        "f(Tensor self) -> (Tensor a, Tensor b)",
        "f(Tensor self) -> (Tensor, Tensor)",
        {
            "return 0 is named nothing instead of `a`": "python serialized",
            "return 1 is named nothing instead of `b`": "python serialized",
        },
    ),
    "types that C++ converts": Case(
        "f(Tensor self, int n, int[] s, float x, int[]? o=None) -> Tensor",
        "f(Tensor self, Scalar n, SymInt[] s, Scalar x, SymInt[]? o=None) -> Tensor",
        {
            "argument `n` is `Scalar` instead of `int`": "forward",
            "argument `x` is `Scalar` instead of `float`": "forward",
            "parameter `n` of kernels is `const at::Scalar &` instead of `int64_t`": "kernel",
            "parameter `x` of kernels is `const at::Scalar &` instead of `double`": "kernel",
            "argument `s` is `SymInt[]` instead of `int[]`": "",
            "argument `o` is `SymInt[]?` instead of `int[]?`": "",
        },
    ),
    "narrower": Case(
        "f(Tensor self, Scalar n, Tensor? w=None) -> Tensor",
        "f(Tensor self, int n, Tensor w) -> Tensor",
        {
            "argument `n` is `int` instead of `Scalar`": "python serialized",
            "argument `w` is `Tensor` instead of `Tensor?`": "python serialized",
            "argument `w` has no default": "python serialized forward",
            "parameter `n` is `int64_t` instead of `const at::Scalar &` in C++": "cpp",
            "parameter `w` is `const at::Tensor &` instead of `const ::std::optional<at::Tensor> &` in C++": ("cpp"),
            "parameter `n` of kernels is `int64_t` instead of `const at::Scalar &`": "kernel",
            "parameter `w` of kernels is `const at::Tensor &` instead of `const ::std::optional<at::Tensor> &`": (
                "kernel"
            ),
        },
    ),
    "argument in place of another": Case(
        "f(Tensor self, int n, int k) -> Tensor",
        "f(Tensor self, Tensor w, int k) -> Tensor",
        {
            "argument `n` is gone": "python",
            "new argument `w` has no default": "python",
            "parameter `n` is `const at::Tensor &` instead of `int64_t` in C++": "cpp",
            "argument `w` is inserted before `n`": "serialized forward",
            "kernels take `(const at::Tensor &, const at::Tensor &, int64_t)`"
            " instead of `(const at::Tensor &, int64_t, int64_t)`": "kernel",
        },
    ),
    "keyword argument in front removed": Case(
        "f(Tensor self, *, int a=1, int b=2) -> Tensor",
        "f(Tensor self, *, int b=2) -> Tensor",
        {
            "argument `a` is gone": "python",
            "argument `b` has another place": "cpp serialized forward",
            "kernels no longer get the parameter `int64_t a`": "kernel",
        },
    ),
    "default of another type": Case(
        "f(Tensor self, Scalar a=1) -> Tensor",
        "f(Tensor self, Scalar a=1.0) -> Tensor",
        {
            "the default of `a` is `1.0` instead of `1`": "python cpp serialized forward",
        },
    ),
    "no symbolic integers": Case(
        "f(Tensor self, SymInt a) -> Tensor",
        "f(Tensor self, int a) -> Tensor",
        {
            "parameter `a` of kernels is `int64_t` instead of `c10::SymInt`": "kernel",
            "argument `a` is `int` instead of `SymInt`": "",
        },
    ),
    "tensor options": Case(
        "f(Tensor self, *, ScalarType? dtype=None) -> Tensor",
        "f(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) "
        "-> Tensor",
        {
            "parameter `dtype` is `at::TensorOptions` instead of `::std::optional<at::ScalarType>` in C++": ("cpp"),
            "kernels get the parameter `::std::optional<at::Layout> layout`": "kernel",
            "kernels get the parameter `::std::optional<at::Device> device`": "kernel",
            "kernels get the parameter `::std::optional<bool> pin_memory`": "kernel",
            "new argument `Layout? layout=None`": "",
            "new argument `Device? device=None`": "",
            "new argument `bool? pin_memory=None`": "",
        },
    ),
}


def changes_of(old: str, new: str, folder: Path) -> tuple[OperatorChange, ...]:
    """The changes between two texts like `native_functions.yaml`."""
    sides = []
    for name, text in (("old.yaml", old), ("new.yaml", new)):
        path = folder / name
        path.write_text(text, encoding="utf-8")
        sides.append(load_side(str(path), None, Diagnostics()).side)
    return compare(*sides).changes


@pytest.mark.parametrize("case", CASES)
def test_edits_of_schemas_break_whom_they_break(case: str, tmp_path: Path) -> None:
    """An edit of a schema has the reasons, each with its audiences, and no others."""
    old, new, reasons = CASES[case]
    (change,) = changes_of(f"- func: {old}\n{HEAD}", f"- func: {new}\n{HEAD}", tmp_path)
    broken = {
        reason.text: " ".join([audience.name for audience in change.breaks if audience in reason.audiences])
        for reason in change.reasons
    }
    assert broken == reasons


FIELDS = {
    "method removed": (
        "  variants: function, method\n",
        "",
        "the method is gone, only the function is left",
        "python cpp",
    ),
    "method added": ("", "  variants: function, method\n", "it is a method too", ""),
    "function removed": (
        "  variants: function, method\n",
        "  variants: method\n",
        "the function is gone, only the method is left",
        "python cpp",
    ),
    "function added": ("  variants: method\n", "  variants: function, method\n", "it is a function too", ""),
    "module removed": (
        "  python_module: nn\n",
        "",
        "the Python module is `torch` instead of `nn`",
        "python",
    ),
    "module": ("", "  python_module: nn\n", "the Python module is `nn` instead of `torch`", "python"),
    "tag": ("", "  tags: pointwise\n", "it has the tag `pointwise`", ""),
    "tag removed": ("  tags: pointwise\n", "", "it no longer has the tag `pointwise`", ""),
}


@pytest.mark.parametrize("case", FIELDS)
def test_edits_of_fields_break_whom_they_break(case: str, tmp_path: Path) -> None:
    """An edit of another field than the schema is one difference."""
    before, after, text, audiences = FIELDS[case]
    entry = f"- func: f(Tensor self) -> Tensor\n{HEAD}"
    (change,) = changes_of(entry + before, entry + after, tmp_path)
    assert [reason.text for reason in change.reasons] == [text]
    assert " ".join([audience.name for audience in change.breaks]) == audiences


def test_kernels_and_removed_operators(tmp_path: Path) -> None:
    """Kernels that differ break nobody; a removed operator breaks all, and one with the same arguments is named."""
    old = f"- func: f(Tensor self) -> Tensor\n{HEAD}- func: scale(Tensor self, int by) -> Tensor\n{HEAD}"
    new = (
        "- func: f(Tensor self) -> Tensor\n  dispatch:\n    CPU: other\n    CUDA: kernel\n"
        f"- func: scaled(Tensor self, int by) -> Tensor\n{HEAD}- func: g(Tensor self) -> Tensor\n{HEAD}"
    )
    removed, changed, *added = changes_of(old, new, tmp_path)
    assert [audience.name for audience in removed.breaks] == ["python", "cpp", "serialized", "kernel"]
    assert removed.similar == ("scaled",)
    assert changed.breaks == ()
    assert [reason.text for reason in changed.reasons] == [
        "it has a kernel for CUDA: `kernel`",
        "its kernel for CPU is `other` instead of `kernel`",
    ]
    assert [change.name for change in added] == ["g", "scaled"]


def test_methods_have_parameters_too(tmp_path: Path) -> None:
    """An operator that is a method alone breaks C++ callers by the parameters of the method."""
    texts = [
        f"- func: f(Tensor self, {argument}) -> Tensor\n  variants: method\n{HEAD}" for argument in ("int n", "str n")
    ]
    (change,) = changes_of(texts[0], texts[1], tmp_path)
    assert "parameter `n` is `c10::string_view` instead of `int64_t` in C++" in [
        reason.text for reason in change.reasons if Audience.cpp in reason.audiences
    ]


GROUP = """\
- func: f(Tensor self) -> Tensor
  {kind}: {value}
- func: f.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
  structured: True
  dispatch:
    CPU: f_out
"""


def test_kernels_become_structured(tmp_path: Path) -> None:
    """A kernel that becomes structured, or is no longer, breaks nobody."""
    structured = GROUP.format(kind="structured_delegate", value="f.out")
    plain = structured.replace("structured: True\n  ", "").replace("structured_delegate: f.out", "dispatch: {CPU: f}")
    texts = {}
    for old, new in ((plain, structured), (structured, plain)):
        changes = changes_of(old, new, tmp_path)
        assert all(change.breaks == () for change in changes)
        texts[new] = {reason.text for change in changes for reason in change.reasons if "structured" in reason.text}
    assert list(texts.values()) == [{"its kernels are structured"}, {"its kernels are no longer structured"}]


def test_made_overloads_have_no_kernels_elsewhere(tmp_path: Path) -> None:
    """An overload that was made from an entry goes with it, and breaks no kernel."""
    text = f"- func: f(Tensor self) -> Tensor\n  autogen: f.out\n{HEAD}"
    removed = changes_of(text, f"- func: g(Tensor self) -> Tensor\n{HEAD}", tmp_path)[:2]
    kernels = {change.name: Audience.kernel in change.breaks for change in removed}
    assert kernels == {"f": True, "f.out": False}


def run(*words: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    """The exit status and the output of `opwright diff`."""
    status = main(["diff", *words])
    return status, capsys.readouterr().out


def test_statistics_count_kinds_and_audiences(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A line for each kind of change and each audience that has one; `--breaks any` leaves out what breaks nobody."""
    old, new = tmp_path / "old.yaml", tmp_path / "new.yaml"
    old.write_text(f"- func: f(Tensor self, Tensor w) -> Tensor\n{HEAD}", encoding="utf-8")
    new.write_text(
        f"- func: f(Tensor self, Tensor? w=None) -> Tensor\n{HEAD}\n- func: g(Tensor self) -> Tensor\n{HEAD}", "utf-8"
    )
    lines = run(str(old), str(new), "--statistics", capsys=capsys)[1].splitlines()
    not_compared = "Not compared, as a side lacks what it takes: gradients, shim."
    assert lines[:4] == [f"{old} -> {new}", not_compared, "     1  changed", "     1  added"]
    assert "     1  break kernel: kernels that are registered for the operator elsewhere" in lines
    assert "     1  added" not in run(str(old), str(new), "--statistics", "--breaks", "any", capsys=capsys)[1]
    assert (
        run(str(old), str(old), "--statistics", capsys=capsys)[1]
        == f"{old} -> {old}\n{not_compared}\nnothing changed\n"
    )


def test_exit_status_follows_what_breaks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The status is 1 if something breaks one of those that `--fail-on` names, by default anyone."""
    old, new = tmp_path / "old.yaml", tmp_path / "new.yaml"
    old.write_text(f"- func: f(Tensor self, Tensor w) -> Tensor\n{HEAD}", encoding="utf-8")
    new.write_text(f"- func: f(Tensor self, Tensor? w=None) -> Tensor\n{HEAD}", encoding="utf-8")
    expected = {
        (): 1,
        ("any",): 1,
        ("none",): 0,
        ("python",): 0,
        ("kernel",): 1,
        ("python", "forward"): 1,
        ("shim",): 0,
    }
    for levels, status in expected.items():
        words = [word for level in levels for word in ("--fail-on", level)]
        assert run(str(old), str(new), *words, capsys=capsys)[0] == status
    assert run(str(old), str(old), capsys=capsys) == (
        0,
        f"{old} -> {old}: 0 removed, 0 added, 0 schemas changed, 0 other differences\n\n"
        "Not compared, as a side lacks what it takes: gradients, shim.\n\n"
        "Of these, none breaks python, cpp, serialized, forward, kernel.\n",
    )
    assert run(str(old), str(new), "other*", capsys=capsys)[0] == 0
    assert run(str(old), str(new), "f", "--breaks", "python", capsys=capsys)[0] == 0


@pytest.mark.network
def test_reports_fit_the_terminal_and_the_schema(capsys: pytest.CaptureFixture[str]) -> None:
    """A text report has 80 columns, and a JSON report fits the schema that `opwright schema diff` prints."""
    jsonschema = pytest.importorskip("jsonschema")
    status, text = run("2.13.0", "2.14.1", capsys=capsys)
    assert status == 1
    assert max(map(len, text.splitlines())) <= 80
    _, text = run("2.13.0", "2.14.1", "--format", "json", capsys=capsys)
    document = json.loads(text)
    validator = jsonschema.Draft202012Validator(json.loads(schema_text("diff")))
    assert [error.message for error in validator.iter_errors(document)] == []
    assert document["summary"]["removed"] == 4
    assert {"qr", "cholesky"} <= {change["name"] for change in document["changes"] if change["kind"] == "removed"}
    assert not validator.is_valid({**document, "changes": [{**document["changes"][0], "kind": "renamed"}]})


@pytest.mark.network
def test_markdown_is_for_pull_requests(capsys: pytest.CaptureFixture[str]) -> None:
    """The Markdown has a table of what breaks, whose rows have as many cells as its head, and folded lists."""
    _, text = run("2.13.0", "2.14.1", "--format", "markdown", capsys=capsys)
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    assert rows[2].startswith("| `")
    assert {row.replace("\\|", "").count("|") for row in rows} == {4}
    assert text.count("<details>") == text.count("</details>") == 2


def test_other_files_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A file without operators is an error that says what can be compared."""
    path = tmp_path / "derivatives.yaml"
    path.write_text("- name: f(Tensor self) -> Tensor\n  self: grad\n", encoding="utf-8")
    assert main(["diff", str(path), "auto"]) == 1
    assert "error[E2103]" in capsys.readouterr().err


@pytest.mark.thorough
def test_a_dump_is_compared_like_its_release(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The dump of a release has the operators, the kernels and the shims of the release."""
    path = tmp_path / "operators.json"
    assert main(["dump", "--out", str(path)]) == 0
    status, text = run("auto", str(path), "--all", capsys=capsys)
    assert status == 0
    assert ": 0 removed, 0 added, 0 schemas changed, 0 other differences\n" in text
