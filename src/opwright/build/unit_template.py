"""Templates that are filled once for each unit of a file, not once for the file."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from opwright.build.engine import generated_comment
from opwright.build.template import Template

if TYPE_CHECKING:
    from opwright.emit.emitter import Slots
    from opwright.source.text import SourceFile

__all__ = ["UnitTemplate"]


class UnitTemplate:
    """A template whose filled text is a part of a file: its empty lines are left out.

    >>> from opwright.source.text import SourceFile
    >>> template = UnitTemplate(SourceFile("unit.ini", "namespace {\\n\\n${body}\\n\\n}\\n"))
    >>> print(template({"body": ["int f();", "int g();"]}))
    namespace {
    int f();
    int g();
    }
    """

    __slots__ = ("_comment", "_template")

    def __init__(self, source: SourceFile) -> None:
        self._template = Template(source)
        self._comment = generated_comment(os.path.basename(source.path))

    @property
    def text(self) -> str:
        """The text of the template."""
        return self._template.source.text

    def __call__(self, slots: Slots) -> str:
        """The filled text. Raises Fault (E0601) at the first slot that has no value."""
        if "generated_comment" in self._template.names:
            slots = {"generated_comment": self._comment, **slots}
        return "\n".join(filter(None, self._template.render(slots).split("\n")))
