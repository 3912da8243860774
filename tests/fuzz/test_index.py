"""A few hundred hostile package indexes as part of the checks, and proof that a bug would be noticed."""

from __future__ import annotations

import re
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from opwright.cli import console
from opwright.source.diagnostic import Diagnostics
from opwright.wheels.client import Client
from tests.fuzz import index_answers
from tests.fuzz.index_answers import HostileIndex, answers_of, fuzz_index, hostile_index

COUNT = 300


@pytest.fixture
def index(tmp_path: Path) -> Iterator[HostileIndex]:
    """A server that pip's settings name as the only index."""
    with hostile_index(str(tmp_path / "cache")) as served:
        yield served


@pytest.mark.thorough
def test_hostile_answers_give_diagnostics(index: HostileIndex) -> None:
    """Whatever an index answers ends in inputs or a diagnostic, and no text controls the terminal."""
    findings = [finding for seed in range(COUNT) if (finding := fuzz_index(index, seed))]
    assert not findings, f"seed {findings[0].seed}: {findings[0].report}"


@pytest.mark.thorough
def test_hostile_answers_reach_all_stages(index: HostileIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    """Damage meets each stage: no answer, bad page, bad link, bad archive, altered members; some answers are sound."""
    codes: Counter[str] = Counter()
    report = console.report

    def count(sink: Diagnostics, color: str) -> None:
        codes.update([diagnostic.code for diagnostic in sink if diagnostic.severity.value == "error"] or ["none"])
        report(sink, color)

    monkeypatch.setattr(console, "report", count)
    for seed in range(COUNT):
        fuzz_index(index, seed)
    assert codes.total() == COUNT
    assert codes.keys() >= {"none", "E0504", "E0506", "E0507", "E0508", "E0509", "E0510", "E0515", "E0518", "E0519"}


def test_a_traceback_is_found(index: HostileIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    """A client with a bug is reported with its seed, and a seed gives the same answers again."""

    def broken(*_: object) -> object:
        raise KeyError("torch")

    monkeypatch.setattr(Client, "page", broken)
    finding = fuzz_index(index, 7)
    assert finding is not None
    assert "Traceback" in finding.report
    assert re.search(r"KeyError: 'torch'", finding.report)
    again = answers_of(7, index.address)
    assert repr(again.wheel) in finding.text


@pytest.mark.alone
def test_a_hang_is_found(index: HostileIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that does not end is stopped and reported."""
    monkeypatch.setattr(index_answers, "SLOWEST_SECONDS", 0.05)
    monkeypatch.setattr(Client, "page", lambda *_: time.sleep(5))
    finding = fuzz_index(index, 7)
    assert finding is not None
    assert "TooSlow" in finding.report


def test_an_escape_sequence_is_found(index: HostileIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    """Text that would control a terminal is reported."""
    monkeypatch.setattr(console, "report", lambda *_: sys.stderr.write("error[E0500] \x1b[31m\n"))
    finding = fuzz_index(index, 7)
    assert finding is not None
    assert "\x1b" in finding.report
