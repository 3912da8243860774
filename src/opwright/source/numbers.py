"""Read numbers that a user, a file or a server writes."""

from __future__ import annotations

_DIGITS = 18


def read_number(text: str) -> int | None:
    """The number that 1 to 18 ASCII digits spell; None for other texts, which excludes huge numbers.

    >>> read_number("042"), read_number("-1"), read_number("\\u00b2"), read_number("9" * 5000)
    (42, None, None, None)
    """
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _DIGITS else None
