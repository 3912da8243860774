"""The program that replays a folder of backend files says what both sides make of each file."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests.backend.outcomes import Outcome
from tests.conformance.backend_folder import verdict
from tests.conformance.inputs import ROOT
from tests.conformance.process import run_program

REFUSED = Outcome(1, "Traceback", {})
ACCEPTED = Outcome(0, "", {"out/a.h": b"a"})
FAULT = 'faults: [["a.yaml", 2, 10, 3, "E1304"]]'


@pytest.mark.parametrize(
    ("ours", "reference", "text", "is_right"),
    [
        (ACCEPTED, ACCEPTED, "identical", True),
        (Outcome(0, FAULT.replace("E", "W"), ACCEPTED.files), ACCEPTED, "identical, 1 warning", True),
        (Outcome(0, "", {"out/a.h": b"b"}), ACCEPTED, "DIFFERENT", False),
        (ACCEPTED, REFUSED, "ACCEPTS it: 1 file", False),
        (Outcome(1, FAULT, {}), REFUSED, "refuses it: E1304 at 2:10", True),
        (Outcome(1, FAULT, {}), ACCEPTED, "refuses it: E1304 at 2:10", False),
        (Outcome(70, "Traceback", {}), REFUSED, "refuses it: WITHOUT A PLACE", False),
    ],
)
def test_verdicts(ours: Outcome, reference: Outcome, text: str, is_right: bool) -> None:
    """Only the same bytes, or an error with a place for what the reference refuses, is right."""
    assert verdict(ours, reference) == (text, is_right)


@pytest.mark.thorough
def test_a_folder_is_replayed(tmp_path: Path) -> None:
    """Each file has a row, whatever its depth, and the exit status tells that all outcomes agree."""
    (tmp_path / "vendor").mkdir()
    (tmp_path / "vendor" / "ops.yaml").write_text("backend: HPU\ncpp_namespace: a\nsupported: [abs]\n")
    (tmp_path / "taken.yaml").write_text("backend: XPU\ncpp_namespace: a\nsupported: [abs]\n")
    command = [sys.executable, "-m", "tests.conformance.backend_folder", str(tmp_path)]
    done = run_program(command, ROOT, {**os.environ, "PYTHONPATH": str(ROOT / "src")})
    assert done.status == 0, done.output + done.complaint
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in done.output.splitlines() if "|" in line]
    assert rows[2:] == [
        ["taken.yaml", "refuses it: Duplicate backend key: XPU", "refuses it: E1305 at 1:10"],
        ["vendor/ops.yaml", "accepts it: 2 files", "identical"],
    ]
    assert "2 files, 1 accepted by PyTorch's program; 0 with another outcome" in done.output
