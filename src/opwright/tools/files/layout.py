"""Canonical layout of library files, backend files and files with derivatives, which `opwright format` writes."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

from opwright.backends.rows import BACKEND
from opwright.dialects.dialect import Dialect
from opwright.dialects.table import DERIVATIVES
from opwright.libraries.rows import LIBRARY
from opwright.source.diagnostic import Diagnostic, Diagnostics
from opwright.source.text import SourceFile
from opwright.tools.files.field_schemas import field_order
from opwright.tools.files.file_kinds import kind_of
from opwright.tools.files.yaml_layout import laid_out
from opwright.tools.tool_codes import NOT_LAID_OUT
from opwright.workspace.edits import line_edits

#: The dialects that have a canonical layout. PyTorch's list of operators is its developers' to lay out.
_LAID_OUT: Final = (LIBRARY, BACKEND, DERIVATIVES)
_SCHEMAS: Final = ("func", "name")


def canonical_text(file: SourceFile, dialect: Dialect[Any]) -> str:
    """Text of a file of a dialect in its canonical layout.

    >>> from opwright.libraries.rows import LIBRARY
    >>> from opwright.source.text import SourceFile
    >>> text = "operators:\\n  - dispatch: {CPU: f}\\n    func: f(Tensor x) -> Tensor\\nnamespace: acme\\n"
    >>> print(canonical_text(SourceFile("acme.yaml", text), LIBRARY), end="")
    namespace: acme
    operators:
    - func: f(Tensor x) -> Tensor
      dispatch: {CPU: f}
    """
    return laid_out(file, partial(field_order, dialect), lambda path: path[-1:] != () and path[-1] in _SCHEMAS)


def check_layout(file: SourceFile, dialect: Dialect[Any] | None = None) -> Diagnostic | None:
    """Report that a file is not in its canonical layout (W2221), with the edits that make it so."""
    dialect = dialect or kind_of(file)
    if dialect not in _LAID_OUT or dialect is None:
        return None
    edits = list(line_edits(file, canonical_text(file, dialect)))
    if not edits:
        return None
    sink = Diagnostics()
    line = file.line_and_column(edits[0].span.start)[0]
    start = file.offset(line)
    place = file.span(start, start + max(1, len(file.line_text(line))))
    sink.warning(NOT_LAID_OUT, "the file is not in its canonical layout", place, edits=edits)
    return next(iter(sink))
