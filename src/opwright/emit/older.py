"""Older spellings: texts of which releases before a change have another form."""

from __future__ import annotations

import re
from typing import TypeAlias

__all__ = ["Spelling", "spelled"]

Spelling: TypeAlias = "tuple[re.Pattern[str], str]"
"""A pattern that finds the newer form, and the older one, which may name groups of the pattern."""


def spelled(text: str, is_new: bool, *spellings: Spelling) -> str:
    """A text in its newer form if `is_new`, else with the older form of each spelling.

    >>> spelled("f(x, nullptr)", False, (re.compile("nullptr"), "NULL"))
    'f(x, NULL)'
    >>> spelled("f(x, nullptr)", True, (re.compile("nullptr"), "NULL"))
    'f(x, nullptr)'
    """
    if not is_new:
        for pattern, older in spellings:
            text = pattern.sub(older, text)
    return text
