"""Every hint is right: after it is followed, the fault is gone and no new one is there.

Hints that no program can follow are in `reasons.yaml`, with why.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml

from opwright.source.diagnostic import Diagnostic, Severity
from tests.hints.advice import followed
from tests.hints.cases import HintCase, load_cases
from tests.hints.templates import hints, pattern_of

FOLDER = Path(__file__).parent


def loaded(name: str) -> dict[str, list[str]]:
    """The texts of a file of this folder, by their names."""
    texts: dict[str, list[str]] = yaml.load((FOLDER / name).read_text(encoding="utf-8"), yaml.CSafeLoader)
    return texts


REASONS: dict[str, list[str]] = loaded("reasons.yaml")
#: What shows once a hint is followed, because the text of the case has it too: name of the case -> codes.
HIDDEN: dict[str, list[str]] = loaded("hidden_faults.yaml")


class Following(NamedTuple):
    """What came of a hint: the case, the diagnostic, whether it is gone, and the errors that are new."""

    case: str
    diagnostic: Diagnostic
    is_gone: bool
    new: frozenset[str]

    def __str__(self) -> str:
        found = self.diagnostic
        return f"{self.case}: {found.code} {found.message}: {found.help}: gone {self.is_gone}, new {sorted(self.new)}"


@pytest.fixture(scope="module")
def followings() -> list[Following]:
    """Every hint of every case that a program can follow."""
    return [following for case in load_cases() for following in follow_all(case)]


def follow_all(case: HintCase) -> list[Following]:
    """Follow each hint of a case by itself, and check the text again."""
    before = case.check(case.text)
    counts = Counter(map(identity, before))
    results = []
    for diagnostic in before:
        text = followed(diagnostic) if diagnostic.help or diagnostic.edits else None
        if text is None:
            continue
        after = case.check(text)
        own = identity(diagnostic)
        is_gone = Counter(map(identity, after))[own] < counts[own]
        errors = {found.code for found in after if found.severity is Severity.ERROR}
        results.append(Following(case.name, diagnostic, is_gone, frozenset(errors - {found.code for found in before})))
    return results


def identity(diagnostic: Diagnostic) -> tuple[str, str]:
    """What tells a fault from others of the same text, wherever an edit moves it."""
    return diagnostic.code, diagnostic.message


def test_faults_are_gone_when_their_hints_are_followed(followings: list[Following]) -> None:
    """Each fault is gone, and what is new is what the text of the case hides behind the fault."""
    hidden = {name: frozenset(codes) for name, codes in HIDDEN.items()}
    wrong = [
        str(following)
        for following in followings
        if not following.is_gone or following.new - hidden.get(following.case, frozenset())
    ]
    assert wrong == []
    assert len(followings) > 320


def test_hidden_faults_show(followings: list[Following]) -> None:
    """The list of what cases hide has no line too many."""
    shown = {(following.case, code) for following in followings for code in following.new}
    assert {(name, code) for name, codes in HIDDEN.items() for code in codes} - shown == set()


@pytest.mark.thorough
def test_every_hint_is_followed_or_has_a_reason(followings: list[Following]) -> None:
    """A new hint gets a case here, or a reason why no program can follow it; no hint has both."""
    done = {str(following.diagnostic.help) for following in followings}
    excused = {text for texts in REASONS.values() for text in texts}
    places = hints()
    open_hints = {text for text in places if not any(map(pattern_of(text).fullmatch, done))}
    assert {text: places[text] for text in open_hints - excused} == {}
    assert excused - open_hints == set()
