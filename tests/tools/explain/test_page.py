"""The page of the documentation about explanations can be followed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.pages.page import Page

PAGE = Path(__file__).resolve().parents[3] / "docs" / "explain.md"


@pytest.mark.thorough
def test_the_page_can_be_followed(tmp_path: Path) -> None:
    """The explanations that the page shows are those that the commands print."""
    assert Page(PAGE, tmp_path).run() > 0
