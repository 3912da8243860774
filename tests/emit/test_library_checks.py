"""Checks of operator libraries: what generated C++ and Python cannot do, found before it is written."""

from __future__ import annotations

from pathlib import Path

import pytest

from opwright.emit.emitter import Job, Options
from opwright.libraries.emit.checks import check_c_shims, check_cpp, check_shapes, check_stable
from opwright.libraries.frameworks import check_frameworks
from opwright.libraries.operator_library import RunLibraries
from opwright.model.catalog import Catalog
from opwright.source.diagnostic import Diagnostics
from tests.dialects.cases import Case, load_cases
from tests.dialects.loading import found_faults
from tests.dialects.test_library import loaded
from tests.emit.emitting import RULES

CASES = load_cases("library_cases.yaml", Path(__file__).parent)


def checked(*texts: str) -> Diagnostics:
    """What the loader warns of, and what the checks report."""
    libraries, sink = loaded(*texts)
    sink.raise_if_errors()
    job = Job(Catalog((), (), (), (), {}), RULES, Options(), guests=[RunLibraries(libraries)])
    for check in (check_cpp, check_stable, check_shapes, check_c_shims, check_frameworks):
        check(job, sink)
    return sink


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_faults_stand_at_their_places(case: Case) -> None:
    """What the checks find in a document is what its comments mark, to the column."""
    sink = checked(case.text)
    assert found_faults(sink) == case.faults, [str(diagnostic) for diagnostic in sink.sorted()]
