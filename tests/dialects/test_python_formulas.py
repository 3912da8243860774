"""Formulas of C++ in Python, or the reasons why they have none, are the ones that somebody has looked at."""

from __future__ import annotations

from tests.dialects.python_formulas import FILE, formulas, translations


def test_formulas_have_the_reviewed_translations() -> None:
    """Each part of a formula has its form in Python, keeps what it needs, or is refused at its place."""
    assert translations(formulas()) == FILE.read_text(encoding="utf-8")
