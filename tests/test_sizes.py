"""Modules stay short enough to be read in one sitting."""

from __future__ import annotations

from tests.test_layering import SOURCE

LINES = 1000


def test_modules_are_short() -> None:
    """No module of the package is longer than an editor and a review can show; the table of codes may be."""
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in SOURCE.rglob("*.py")}
    assert not {path: length for path, length in lengths.items() if length > LINES and path.stem != "codes"}
