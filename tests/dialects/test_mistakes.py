"""Mistakes that authors make are found at their places, with hints, also where PyTorch's generator takes them."""

from __future__ import annotations

from typing import Any

import pytest

import opwright
from opwright.release.operator_names.autograd import WITH_SYMBOLIC_FORM
from tests.dialects.mistakes import found, load_mistakes, reference_answers

MISTAKES = load_mistakes()


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake["what"])
def test_a_mistake_is_found(mistake: dict[str, Any]) -> None:
    """The first finding underlines the text of the file, with its code and its hint."""
    finding = found(mistake)
    assert finding is not None
    assert finding._asdict() == {name: mistake[name] for name in ("at", "code", "hint")}


def test_what_the_reference_says() -> None:
    """The reference refuses the mistakes that the file says, and takes the others."""
    answers = reference_answers(MISTAKES)
    taken = [mistake["what"] for mistake, answer in zip(MISTAKES, answers, strict=True) if not answer]
    assert taken == [mistake["what"] for mistake in MISTAKES if not mistake["reference"]]


def test_nearly_all_have_a_hint() -> None:
    """Of more than sixty mistakes, nine in ten have a hint."""
    assert len(MISTAKES) > 60
    assert sum(bool(mistake["hint"]) for mistake in MISTAKES) > 0.9 * len(MISTAKES)


def test_operators_with_a_symbolic_form() -> None:
    """The operators that formulas of libraries call with symbolic integers have such a form in PyTorch."""
    symbolic = {function.name.name for function in opwright.load().functions if function.schema.has_symint}
    assert symbolic >= WITH_SYMBOLIC_FORM.in_any_release
