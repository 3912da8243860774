"""Mistakes in ExecuTorch's files are reported at their places, and strict runs write right files."""

from __future__ import annotations

from pathlib import Path

import pytest

from opwright.plugins.code_pages import code_names
from tests.executorch.executorch_cases import ExecutorchCase, load_cases, run_case

CASES = load_cases()

#: What no case can show: only the programs report it, or only other operators than PyTorch's have it.
ELSEWHERE = {"E1913", "E1914", "W1914", "W1929", "W1933"}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_mistakes_are_at_their_places(case: ExecutorchCase, tmp_path: Path) -> None:
    """A run that writes the bytes of ExecuTorch's program reports what the comments mark, and nothing else."""
    outcome = run_case(case, tmp_path, strict=False)
    assert [fault for fault in outcome.faults if fault[2] > 1] == case.faults
    assert all(text in outcome.text for text in case.said("has"))


@pytest.mark.thorough
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_strict_runs_are_right(case: ExecutorchCase, tmp_path: Path) -> None:
    """A strict run has the same errors, errors in place of some warnings, and right outputs in place of the others."""
    outcome = run_case(case, tmp_path, strict=True)
    marked = [code for *_, code in case.faults if code.startswith("E")]
    expected = " ".join(case.said("strict")).split() or marked
    assert outcome.codes == sorted(expected)
    assert all(text in outcome.text for text in case.said("strict has"))


def test_every_code_has_a_case() -> None:
    """Each code of ExecuTorch is marked in a case, or tested elsewhere."""
    registered = {code for code in code_names() if code[1:3] == "19"}
    marked = {code for case in CASES for *_, code in case.faults}
    marked |= {code for case in CASES for text in case.said("strict") for code in text.split()}
    assert registered - marked == ELSEWHERE
