"""A short fuzzing run as part of the checks, and proof that it would notice."""

from __future__ import annotations

import time
from random import Random

import pytest

from opwright.source.diagnostic import Diagnostics
from tests.fuzz import run
from tests.fuzz.damage import DAMAGES, Damage
from tests.fuzz.run import fuzz
from tests.fuzz.targets import Target, targets

TEXT = "- func: add(Tensor self) -> Tensor\n  variants: function\n  dispatch:\n    CPU: add_cpu\n"


@pytest.mark.parametrize("target", targets(), ids=lambda target: target.name)
def test_damaged_inputs_give_diagnostics(target: Target) -> None:
    """No damaged excerpt of an input gives a traceback or takes long."""
    findings = [finding for seed in range(300) if (finding := fuzz(target, seed))]
    assert not findings, findings[0].report + findings[0].text


@pytest.mark.parametrize("target", targets(), ids=lambda target: target.name)
def test_undamaged_inputs_are_sound(target: Target) -> None:
    """Without damage the inputs have no fault, so that what fuzzing meets comes of the damage alone."""
    sink = Diagnostics()
    target.load("".join(target.entries), sink)
    assert not sink.has_errors


def test_traceback_is_found() -> None:
    """A loader that breaks is reported with the text that broke it, and the same seed gives the same text again."""

    def broken(text: str, sink: Diagnostics) -> object:
        raise KeyError(text)

    first, second = (fuzz(Target("broken", [TEXT], broken), 7) for _ in range(2))
    assert first is not None
    assert first.report.rstrip().startswith("Traceback")
    assert second is not None
    assert first.text == second.text


def test_hang_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A loader that does not end is stopped and reported, even where it swallows exceptions."""
    monkeypatch.setattr(run, "SLOWEST_SECONDS", 0.05)

    def stuck(text: str, sink: Diagnostics) -> object:
        try:
            time.sleep(5)
        except Exception:
            time.sleep(5)
        return None

    finding = fuzz(Target("stuck", [TEXT], stuck), 0)
    assert finding is not None
    assert "TooSlow" in finding.report


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
def test_each_damage_changes_the_text(damage: Damage) -> None:
    """Every kind of damage changes most texts, and copes with a text of one character."""
    changed = sum(damage(TEXT, Random(seed)) != TEXT for seed in range(50))
    assert changed > 25
    damage("x", Random(0))
