"""Runs of the generator warn of what breaks for want of a kernel, at its place in the backend file."""

from __future__ import annotations

from pathlib import Path

import pytest

from opwright.backends.dispatch.traps import check_backends
from opwright.backends.external_backend import RunBackends
from opwright.backends.operator_names import BROKEN_BY_FALLBACK
from opwright.backends.rows import BACKEND
from opwright.cli.main import main
from opwright.dialects.dialect import LoadContext
from opwright.emit.emitter import Job, Options
from opwright.model.selection import EVERYTHING
from opwright.source.diagnostic import Diagnostics
from opwright.source.text import SourceFile
from tests.dialects.cases import Case, load_cases
from tests.dialects.loading import found_faults
from tests.tools.coverage.reports import EVERY_NEEDED, installed, installed_job

CASES = load_cases("cases.yaml", Path(__file__).parent)

HEAD = "backend: PrivateUse1\ncpp_namespace: acme\nfallback: cpu\nsupported:\n"


def warnings_of(text: str) -> Diagnostics:
    """What the check of a file without other mistakes reports."""
    job, sink = installed_job(), Diagnostics()
    context = LoadContext(sink, job.rules, installed(), job.catalog, job.catalog.functions)
    backends = BACKEND.load([SourceFile("acme.yaml", text)], context)
    assert not len(sink), [str(diagnostic) for diagnostic in sink]
    check_backends(Job(job.catalog, job.rules, Options(), EVERYTHING, guests=[RunBackends(backends)]), sink)
    return sink


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_warnings_stand_at_their_places(case: Case) -> None:
    """What is found in a document is what its comments mark, to the column."""
    sink = warnings_of(case.text)
    assert found_faults(sink) == case.faults, [str(diagnostic) for diagnostic in sink.sorted()]


@pytest.mark.parametrize("name", sorted(BROKEN_BY_FALLBACK.in_any_release))
def test_the_warning_says_what_breaks(name: str) -> None:
    """With each operator that a device needs left out, the only warning names it, and says what happens."""
    entries = [f"- {other}\n" for other in EVERY_NEEDED.split() if other != name]
    sink = warnings_of(HEAD + "".join(entries))
    (diagnostic,) = sink.sorted()
    assert diagnostic.message.startswith(f"`{name}` is left to the CPU fallback: ")
    assert BROKEN_BY_FALLBACK.in_any_release[name] in diagnostic.message
    assert f"`{name}" in str(diagnostic.help)


def test_generation_warns_before_anything_is_compiled(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`opwright generate --backend` prints the warnings, and writes the files."""
    file = tmp_path / "acme.yaml"
    file.write_text(HEAD + "- relu\n", encoding="utf-8")
    assert main(["generate", "--backend", str(file), "--out", str(tmp_path / "out")]) == 0
    errors = capsys.readouterr().err
    assert "`empty_strided` is left to the CPU fallback: the process crashes at the first tensor" in errors
    assert "the view `as_strided` is left to the CPU fallback" in errors
    assert (tmp_path / "out").is_dir()
