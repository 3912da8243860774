"""What explanations say, and that a part of the operators is enough to say it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from opwright.backends.dispatch.resolution import overloads_named
from opwright.cli.main import main
from opwright.emit.registry import DEFAULT_FAMILIES
from opwright.release.inputs import open_inputs
from opwright.release.rules import Rules
from opwright.release.version import version_of
from opwright.source.diagnostic import Diagnostics
from opwright.source.text import SourceFile
from opwright.tools.explain import loading, records
from opwright.tools.explain.explanation import explain
from opwright.tools.explain.loading import Explained, ExplainRequest, load_jobs
from opwright.tools.explain.records import SECTIONS, Explanation
from tests.tools.explain.test_agreement import TWENTY

DOCS = Path(__file__).resolve().parents[3] / "docs"
ALL_BUT_SYMBOLS = tuple(name for name in SECTIONS if name != "symbols")


def explanation(
    name: str, *sections: str, libraries: tuple[SourceFile, ...] = (), backends: tuple[SourceFile, ...] = ()
) -> Explanation:
    """The explanation of an operator of the installed release, or of a library, with these files."""
    request = ExplainRequest((name,), open_inputs("auto"), libraries=libraries, backends=backends)
    explained = next(load_jobs(request, Diagnostics()))
    return explain(overloads_named(name, explained.job.catalog)[0], explained, sections)


@pytest.mark.thorough
def test_a_part_of_the_operators_is_enough() -> None:
    """Explanations from the entries of one operation are those from all entries, numbers of nodes included."""
    inputs = open_inputs("auto")
    rules = Rules(version_of(inputs))
    whole = Explained(loading.load_pytorch(ExplainRequest((), inputs), inputs, rules, Diagnostics()), DEFAULT_FAMILIES)
    for name in (*TWENTY, "_foreach_add.Scalar", "fft_fft", "native_batch_norm", "_thnn_fused_gru_cell"):
        job = loading.load_part(ExplainRequest((name,), inputs), rules)
        assert job is not None
        assert len(job.catalog) < 100
        part = explain(job.catalog[name], Explained(job, DEFAULT_FAMILIES), ALL_BUT_SYMBOLS)
        assert part == explain(whole.job.catalog[name], whole, ALL_BUT_SYMBOLS)


def test_derivatives_name_what_is_saved() -> None:
    """A gradient has its node, its formula with its place, and what the forward call saves."""
    derivative = explanation("mul.Tensor", "derivative").derivative
    assert derivative is not None
    (gradient,) = derivative.gradients
    assert (derivative.status, gradient.node, len(gradient.forward)) == ("formulas", "MulBackward0", 1)
    assert {saved.name for saved in gradient.saved} == {"self", "self_scalar_type", "other", "other_scalar_type"}
    assert gradient.formulas[0].place.file.endswith("derivatives.yaml")


@pytest.mark.parametrize(
    ("name", "status"),
    [
        ("mul.out", "out"),
        ("matmul", "mixed"),
        ("reshape", "composite"),
        ("detach", "by_hand"),
        ("_cdist_backward", "unimplemented"),
        ("argmax", "none"),
    ],
)
def test_gradients_have_a_status(name: str, status: str) -> None:
    """What happens without formulas is said too."""
    derivative = explanation(name, "derivative").derivative
    assert derivative is not None
    assert derivative.status == status


def test_deprecated_signatures_have_their_place() -> None:
    """Deprecated Python signatures come last, with the line of their entry."""
    python = explanation("add.Tensor", "python").python
    assert python is not None
    assert [record.deprecated for record in python] == [False, False, True, True]
    assert all(record.place is not None for record in python if record.deprecated)


def test_kernels_of_libraries_are_explained() -> None:
    """The table of a library's operator has its kernels, and those that are generated for it."""
    text = "namespace: acme\noperators:\n- func: scale(Tensor self) -> Tensor\n  dispatch:\n    CPU: scale_cpu\n"
    dispatch = explanation("acme::scale", "dispatch", libraries=(SourceFile("acme.yaml", text),)).dispatch
    assert dispatch is not None
    rows = {row.key: row for row in dispatch}
    assert (rows["CPU"].kernel, rows["XPU"].serving) == ("acme::native::scale_cpu", "missing")
    assert not any(row.by_hand for row in dispatch)


def test_kernels_of_backends_are_explained() -> None:
    """The table of PyTorch's operator has the kernel of a backend, and its fallback for others."""
    text = "backend: PrivateUse1\ncpp_namespace: acme\nfallback: cpu\nsupported:\n- relu\n"
    files = (SourceFile("acme.yaml", text),)
    for name, kernel, serving in (
        ("relu", "acme::PrivateUse1NativeFunctions::relu", "kernel"),
        ("gcd.out", "", "fallback"),
    ):
        dispatch = explanation(name, "dispatch", backends=files).dispatch
        assert dispatch is not None
        row = next(row for row in dispatch if row.key == "PrivateUse1")
        assert (row.kernel, row.serving) == (kernel, serving)


def test_the_page_names_every_field() -> None:
    """The page on explanations documents each field of the JSON, and each section."""
    page = (DOCS / "explain.md").read_text()
    fields = {
        field
        for record in vars(records).values()
        if isinstance(record, type) and record.__module__ == records.__name__
        for field in getattr(record, "_fields", ())
    }
    assert len(fields) > 30
    assert not [name for name in (*fields, *SECTIONS) if f"`{name}`" not in page]


def test_json_has_what_was_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    """JSON has a section for each that is asked for, and null for the others."""
    assert main(["explain", "relu", "mm.out", "--format", "json", "--section", "schema,python"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert [operator["name"] for operator in data["operators"]] == ["aten::relu", "aten::mm.out"]
    assert data["operators"][0]["python"][0]["signature"] == "torch.Tensor.relu() -> Tensor"
    assert data["operators"][0]["dispatch"] is None


def test_text_fits_eighty_columns(capsys: pytest.CaptureFixture[str]) -> None:
    """No line of an explanation is longer than a terminal, except paths and single long words."""
    assert main(["explain", "add.Tensor", "--section", "schema,operation,dispatch,signatures,derivative,python"]) == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if ".yaml:" not in line]
    assert max(map(len, lines)) <= 80


def test_unknown_names_are_answered(capsys: pytest.CaptureFixture[str]) -> None:
    """A misspelt operator gives the nearest one, a misspelt overload those that there are."""
    assert main(["explain", "addd.Tensor"]) == 1
    assert "did you mean `add.Tensor`?" in capsys.readouterr().err
    assert main(["explain", "aten.add.Tenser"]) == 1
    assert "there are add.Tensor" in capsys.readouterr().err


def test_links_lead_to_the_entry(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the terminal has links, the place of the entry links to its file."""
    monkeypatch.setenv("FORCE_HYPERLINK", "1")
    assert main(["explain", "relu", "--section", "schema", "--color", "always"]) == 0
    text = capsys.readouterr().out
    assert "\x1b]8;;file://" in text
    assert "\x1b[1maten::relu\x1b[0m" in text


@pytest.mark.parametrize(("name", "noted"), [("is_leaf", True), ("add.Tensor", False)])
def test_functions_written_by_hand_are_noted(name: str, noted: bool) -> None:
    """The generated function is shown too, and the note says that it is not the one which users call."""
    signatures = explanation(name, "signatures").signatures or ()
    public = [record.note for record in signatures if record.convention.startswith("C++")]
    assert public
    assert all(("written by hand" in note) == noted for note in public)
