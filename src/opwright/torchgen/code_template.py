"""`torchgen.code_template`: templates that callers fill from a mapping, over those of Opwright."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path

from opwright.files.template import Template
from opwright.source.text import SourceFile


class CodeTemplate:
    """A text with slots such as `$name`, `${name}` and `${,name}`.

    >>> CodeTemplate("int f(${args}) {\\n  ${body}\\n}").substitute(args=["int a", "int b"], body=["a++;", "return a;"])
    'int f(int a, int b) {\\n  a++;\\n  return a;\\n}'
    """

    pattern: str
    filename: str

    @staticmethod
    def from_file(filename: str) -> CodeTemplate:
        """Template in a file."""
        return CodeTemplate(Path(filename).read_text(encoding="utf-8"), filename)

    def __init__(self, pattern: str, filename: str = "") -> None:
        self.pattern = pattern
        self.filename = filename

    @cached_property
    def _template(self) -> Template:
        return Template(SourceFile(self.filename, self.pattern))

    def substitute(self, env: Mapping[str, object] | None = None, **kwargs: object) -> str:
        """Text with every slot filled: from the keywords, else from the mapping. Raises KeyError for others."""
        lookup = {} if env is None else env
        values = {name: kwargs[name] if name in kwargs else lookup[name] for name in self._template.names}
        # Lists stay lists, everything else is one text.
        return self._template.filled(
            {name: list(map(str, value)) if isinstance(value, list) else str(value) for name, value in values.items()}
        )
