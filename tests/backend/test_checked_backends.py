"""`opwright check` reports of a backend file all that `opwright generate` does."""

from __future__ import annotations

from pathlib import Path

import pytest

import opwright
from opwright.source.diagnostic import Diagnostic, Diagnostics, Fault, FaultsFound
from opwright.source.text import SourceFile
from opwright.tools.check.checking import CheckRequest, check
from tests.dialects.test_backend_dialect import CASES, pytorch

FAMILIES = ("backend", "library")
EXAMPLE = Path(__file__).parents[2] / "examples" / "backend" / "acme.yaml"
TEXTS = {f"{name} {number}": case.text for name, cases in CASES.items() for number, case in enumerate(cases)}
#: A head with all fields and a section of lazy tensors, and entries with mistakes.
QUICK = ("heads 0", "entries 3")
#: Own operators, of which nothing says the shapes, and views that a fallback refuses.
OWN = """\
backend: PrivateUse1
cpp_namespace: acme
fallback: cpu
supported: [add.Tensor, no_such_operator]
namespace: acme
operators:
- func: scale(Tensor self, float factor) -> Tensor
"""


def facts(diagnostics: list[Diagnostic]) -> set[tuple[str, str, str]]:
    """Code, place and message of each diagnostic."""
    return {(own.code, str(own.span), str(own.message)) for own in diagnostics}


def generated(file: SourceFile, folder: Path) -> set[tuple[str, str, str]]:
    """What a generation reports."""
    sink = Diagnostics(keeps_all_remarks=True)
    request = opwright.Request(
        pytorch(), opwright.build_folders(str(folder), FAMILIES), families=FAMILIES, backends=(file,)
    )
    try:
        opwright.Generation(request, sink).write()
    except FaultsFound as found:
        return facts([*found.diagnostics])
    except Fault as fault:
        return facts([fault.diagnostic])
    return facts([*sink])


def check_reports_all(file: SourceFile, folder: Path) -> set[str]:
    """Assert that a check reports what a generation does; the codes of that."""
    wanted = generated(file, folder)
    assert wanted - facts(check(CheckRequest(pytorch(), backends=(file,)))) == set()
    return {code for code, _, _ in wanted}


@pytest.mark.parametrize("name", QUICK)
def test_cases(name: str, tmp_path: Path) -> None:
    """A check reports what a generation does, of a file with lazy tensors, and of one with mistakes."""
    check_reports_all(SourceFile("backend.yaml", TEXTS[name]), tmp_path)


@pytest.mark.thorough
@pytest.mark.parametrize("name", sorted({*TEXTS}.difference(QUICK)))
def test_other_cases(name: str, tmp_path: Path) -> None:
    """The same of all other cases of backend files."""
    check_reports_all(SourceFile("backend.yaml", TEXTS[name]), tmp_path)


def test_own_operators(tmp_path: Path) -> None:
    """The same of own operators and of views that are left to a fallback, beside a mistake."""
    assert {"E1306", "W1119", "W1371"} <= check_reports_all(SourceFile("backend.yaml", OWN), tmp_path)


def test_the_example(tmp_path: Path) -> None:
    """The same of the example of a backend."""
    check_reports_all(SourceFile.read(str(EXAMPLE)), tmp_path)
