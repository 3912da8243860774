"""Reports as JSON: one object with all diagnostics, with their places and fixes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final

from opwright.source.diagnostic import Diagnostic, Label
from opwright.source.span import Span

__all__ = ["VERSION", "render_json"]

#: The version of the form. It changes when a field changes its meaning or goes away, not when one is added.
VERSION: Final = 1


def render_json(diagnostics: Sequence[Diagnostic]) -> str:
    """The diagnostics as JSON; lines and columns count characters from 1, offsets from 0.

    >>> from opwright.source.diagnostic import Diagnostics
    >>> sink = Diagnostics()
    >>> sink.error("E0001", "no such file: `ops.yaml`")
    >>> json.loads(render_json(sink.sorted()))["diagnostics"][0]["message"]
    'no such file: `ops.yaml`'
    """
    rows = [_diagnostic(diagnostic) for diagnostic in diagnostics]
    return json.dumps({"version": VERSION, "diagnostics": rows}, indent=2, ensure_ascii=False) + "\n"


def _diagnostic(diagnostic: Diagnostic) -> dict[str, object]:
    span = diagnostic.span
    edits = [{**_place(edit.span), "text": edit.text} for edit in diagnostic.edits]
    return {
        "code": diagnostic.code,
        "severity": diagnostic.severity.value,
        "message": diagnostic.message,
        "place": None if span is None else _place(span),
        "labels": [_label(label) for label in diagnostic.labels],
        "notes": [*diagnostic.notes],
        "help": str(diagnostic.help) or None,
        "fix": {"edits": edits} if edits else None,
    }


def _label(label: Label) -> dict[str, object]:
    return {"place": _place(label.span), "text": label.text, "primary": label.primary}


def _place(span: Span) -> dict[str, object]:
    return {"path": span.file.path, "start": _point(span, span.start), "end": _point(span, span.end)}


def _point(span: Span, offset: int) -> dict[str, int]:
    line, column = span.file.line_and_column(offset)
    return {"line": line, "column": column, "offset": offset}
