"""Templates that are filled once for each unit of a file, not once for the file."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from opwright.build.template import Template, has_uneven_lines
from opwright.build.templates import LAUNCHER, generated_comment

if TYPE_CHECKING:
    from opwright.emit.emitter import Slots
    from opwright.source.text import SourceFile

__all__ = ["UnitTemplate"]


class UnitTemplate:
    """A template whose filled text is a part of a file: its empty lines are left out. Comments name the `launcher`.

    >>> from opwright.source.text import SourceFile
    >>> template = UnitTemplate(SourceFile("unit.ini", "namespace {\\n\\n${body}\\n\\n}\\n"))
    >>> print(template({"body": ["int f();", "int g();"]}))
    namespace {
    int f();
    int g();
    }
    """

    __slots__ = ("_comment", "_is_plain", "_template")

    def __init__(self, source: SourceFile, launcher: str = LAUNCHER) -> None:
        self._template = Template(source)
        self._comment = generated_comment(os.path.basename(source.path), launcher)
        commented = "generated_comment" in self._template.names
        self._is_plain = not commented and all(not part.indent for part in self._template.parts)

    @property
    def text(self) -> str:
        """The text of the template."""
        return self._template.source.text

    def __call__(self, slots: Slots) -> str:
        """The filled text. Raises Fault (E0601) at the first slot that has no value."""
        text = self._plain_text(slots) if self._is_plain else None
        if text is None:
            text = self._template.render({"generated_comment": self._comment, **slots})
        return "\n".join(filter(None, text.split("\n")))

    def _plain_text(self, slots: Slots) -> str | None:
        """The same text, but for empty lines, at a third of the time; None where it takes more than joining texts."""
        parts = [self._template.opening]
        for name, indent, _, _, rest in self._template.parts:
            value = slots.get(name)
            if value is None or (indent is None and not isinstance(value, str)):
                return None
            parts += (value if isinstance(value, str) else "\n".join(value), rest)
        text = "".join(parts)
        return None if has_uneven_lines(text) or not text.isascii() or '"""' in text else text
