"""The blanks that PyTorch's generator leaves at ends of lines where a slot of a fragment is empty."""

from __future__ import annotations

import re

from opwright.release.rules import Rules


def with_blanks(text: str, rules: Rules, *places: tuple[str, str]) -> str:
    """A fragment with the blanks at ends of lines that PyTorch before 2.8 leaves there; the same text from 2.8 on.

    Each place is the text before a line's end, and the blanks that follow it there. Blanks of an empty line follow the
    line break before it.

    >>> from opwright.release.rules import Rules
    >>> from opwright.release.version import Version
    >>> with_blanks("{\\n\\n\\n}\\n", Rules(Version(2, 7)), ("{\\n", "  "))
    '{\\n  \\n\\n}\\n'
    >>> with_blanks("{\\n\\n\\n}\\n", Rules(Version(2, 8)), ("{\\n", "  "))
    '{\\n\\n\\n}\\n'
    """
    if not rules.templates_strip_lines:
        for before, blanks in places:
            text = re.sub(rf"(?<={re.escape(before)})(?=\n)", blanks, text)
    return text
