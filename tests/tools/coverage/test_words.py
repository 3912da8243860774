"""The documentation explains every word of a report."""

from __future__ import annotations

import enum
from pathlib import Path

import pytest

from opwright.backends.operator_records import BackwardStatus, MetaSupport, OperatorStatus, TrapKind

PAGE = Path(__file__).resolve().parents[3] / "docs" / "coverage.md"


@pytest.mark.parametrize("members", [OperatorStatus, BackwardStatus, MetaSupport, TrapKind])
def test_the_page_has_each_word(members: type[enum.Enum]) -> None:
    """The tables of the page have each status and each trap with its meaning."""
    text = PAGE.read_text(encoding="utf-8")
    assert [member.name for member in members if f"| `{member.name}` | {member.value} |\n" not in text] == []
