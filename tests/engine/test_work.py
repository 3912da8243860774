"""How much work a run does: in proportion to its operators."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import FrameType

from opwright.emit.registry import build_folders
from opwright.release.inputs import from_source_path
from opwright.run.generation import Generation
from opwright.run.request import Request
from tests.engine.project import ENTRIES, Project

#: Names that stand for operators in the entries.
NAMES = re.compile(r"\b(twice|shifted|rows|mean_of|blank)(?=[_.(]|$|\n)")


def repeated(count: int) -> str:
    """The entries as often as asked, each time under other names."""
    return "\n".join(NAMES.sub(rf"\g<1>{number}", ENTRIES) for number in range(count))


def calls_of_a_run(project: Project, out: Path) -> int:
    """How many functions of the package a whole run calls."""
    calls = 0

    def count(frame: FrameType, event: str, argument: object) -> None:
        nonlocal calls
        calls += event == "call"

    inputs = from_source_path(str(project.inputs))
    families = ("headers", "sources", "declarations_yaml")
    request = Request(inputs=inputs, folders=build_folders(str(out)), families=families, release="2.13")
    sys.setprofile(count)
    try:
        Generation(request).write()
    finally:
        sys.setprofile(None)
    return calls


def test_work_is_linear_in_operators(project: Project, tmp_path: Path) -> None:
    """Ten times the operators are at most twelve times the work, counted in calls."""
    project.yaml.write_text(repeated(10))
    calls_of_a_run(project, tmp_path / "warm")
    few = calls_of_a_run(project, tmp_path / "few")
    project.yaml.write_text(repeated(100))
    many = calls_of_a_run(project, tmp_path / "many")
    assert few > 10_000
    assert many < 12 * few
