"""Messages, labels and help for the faults of the cases are the ones that somebody has looked at."""

from __future__ import annotations

import pytest

from tests.dialects.messages import LOADERS, expected_file, messages_of


@pytest.mark.parametrize("cases", LOADERS)
def test_users_read_what_was_reviewed(cases: str) -> None:
    """Each fault of each case has its message, its labels and its help. `make cases` writes new ones for review."""
    assert messages_of(cases) == expected_file(cases).read_text(encoding="utf-8")
