"""A fault in a plug-in is a diagnostic that names the plug-in, at its place, and leaves other outputs alone."""

from __future__ import annotations

import sys

import pytest

from opwright.run import generation
from tests.engine.project import Project
from tests.plugins.fault_cases import FaultCase, load_cases

CASES = load_cases()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.path.stem)
def test_reports(case: FaultCase, project: Project) -> None:
    """The run reports what the case file says; `make cases` updates the files."""
    before = sys.dont_write_bytecode
    report = case.run(project)
    assert report == case.report
    assert "Traceback" not in report
    assert sys.dont_write_bytecode == before


@pytest.mark.parametrize("name", ["raising_fragment", "raising_units", "raising_file_slots", "wrong_slots"])
def test_reports_of_worker_processes(name: str, project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault in another process is the same diagnostic."""
    case = next(case for case in CASES if case.path.stem == name)
    monkeypatch.setattr(generation, "_WORTH_SHARING", 0)
    assert case.run(project, "--only", "headers", "--jobs", "2") == case.report


def test_other_outputs_stay(project: Project) -> None:
    """A run with a plug-in at fault replaces no output of the run before."""
    case = next(case for case in CASES if case.path.stem == "raising_fragment")
    project.run("--jobs", "1")
    before = {path: path.stat().st_mtime_ns for path in project.out.rglob("*.h")}
    assert before
    project.edit("eps=1e-6", "eps=1e-5")
    assert "exit status 1" in case.run(project, "--only", "headers")
    assert {path: path.stat().st_mtime_ns for path in project.out.rglob("*.h")} == before
