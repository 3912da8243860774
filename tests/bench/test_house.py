"""What `bench.house` measures of the package."""

from __future__ import annotations

import pytest

from bench.house import calls_of_run, figures, packages
from tests.test_layering import ORDER, SOURCE


@pytest.mark.thorough
def test_figures_are_those_of_the_page() -> None:
    """Folders and packages are those of the list in docs/architecture.md, and a run goes from the program to files."""
    first_floor = {place.split("/")[0] for place in ORDER}
    assert figures(SOURCE.parent)["folders on the first floor"] == str(len(first_floor))
    assert {name.split("/")[0] for name in packages(SOURCE / "opwright").values()} - {""} == first_floor
    entered = {module for caller, callee, _ in calls_of_run(SOURCE) for module in (caller, callee)}
    assert {"opwright.cli.generate", "opwright.libraries.dialect.loader", "opwright.files.writer"} <= entered
