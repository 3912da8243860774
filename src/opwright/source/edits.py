"""Apply the edits that diagnostics carry."""

from __future__ import annotations

from collections.abc import Iterable

from opwright.source.diagnostic import Diagnostic, Edit

__all__ = ["apply_edits", "edits_of_file"]


def edits_of_file(diagnostics: Iterable[Diagnostic], path: str) -> tuple[list[Edit], int]:
    """The edits of one file that can be applied together, in order, and the number of diagnostics that they fix.

    The edits of a diagnostic are applied together or not at all. One whose edits overlap those of an earlier diagnostic
    waits for the next round, and so does one that edits several files.
    """
    chosen: list[Edit] = []
    count = 0
    for diagnostic in diagnostics:
        edits = diagnostic.edits
        if not edits or any(edit.span.file.path != path for edit in edits):
            continue
        if all(not _overlap(edit, other) for edit in edits for other in chosen):
            chosen += edits
            count += 1
        elif all(edit in chosen for edit in edits):
            # Two diagnostics may have the same fix.
            count += 1
    return sorted(chosen, key=lambda edit: (edit.span.start, edit.span.end)), count


def _overlap(edit: Edit, other: Edit) -> bool:
    """Whether two edits touch the same characters, or insert at the same place."""
    if edit.span.start == other.span.start:
        return True
    return edit.span.start < other.span.end and other.span.start < edit.span.end


def apply_edits(text: str, edits: Iterable[Edit]) -> str:
    """The text after edits in order, none of which overlap.

    >>> from opwright.source.text import SourceFile
    >>> file = SourceFile("ops.yaml", "tags: [core, core]")
    >>> apply_edits(file.text, [Edit(file.span(11, 17), "")])
    'tags: [core]'
    """
    parts, end = [], 0
    for edit in edits:
        parts += [text[end : edit.span.start], edit.text]
        end = edit.span.end
    return "".join([*parts, text[end:]])
