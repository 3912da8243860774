"""Comparison of generated headers with those in the source tree, which must not change."""

from __future__ import annotations

import os
from collections.abc import Iterable

from opwright.source.codes import SHIM_CHANGED, SHIM_MISSING
from opwright.source.diagnostic import Diagnostics, Fault
from opwright.source.text import SourceFile


def kept_header(folder: str, name: str) -> str | None:
    """Text of a header in a folder; None if it does not exist or cannot be read, which is reported elsewhere."""
    path = os.path.join(folder, name)
    try:
        return SourceFile.read(path).text if os.path.exists(path) else None
    except Fault:
        return None


def check_kept_headers(
    headers: Iterable[tuple[str, str]], folder: str, sink: Diagnostics, *, note_missing: bool = True
) -> None:
    """Report every header, given by name and text, that differs from the file of that name in the folder.

    A difference is an error. Missing files are noted, all in one note, if `note_missing` is true.
    """
    missing: list[str] = []
    for name, text in headers:
        path = os.path.join(folder, name)
        if not os.path.exists(path):
            missing.append(name)
            continue
        try:
            existing = SourceFile.read(path)
        except Fault as fault:
            sink.add(fault.diagnostic)
            continue
        if existing.text.replace("\r\n", "\n") != text:
            _report(name, existing, text, sink)
    if missing and note_missing:
        names = ", ".join(f"`{name}`" for name in missing)
        sink.note(SHIM_MISSING, f"no header to compare with in `{folder}` for {names}")


def _report(name: str, existing: SourceFile, text: str, sink: Diagnostics) -> None:
    from opwright.source.line_diff import unified_lines

    old, new = existing.text.splitlines(), text.splitlines()
    difference = "\n".join(unified_lines(old, new, ("kept", "generated"), end=""))
    differing = (line for line, (before, now) in enumerate(zip(old, new, strict=False)) if before != now)
    same = next(differing, min(len(old), len(new)))
    start = sum(map(len, existing.text.splitlines(keepends=True)[:same]))
    length = len(old[same]) if same < len(old) else 0
    sink.error(
        SHIM_CHANGED,
        f"C shim `{name}` differs from the header that is kept",
        existing.span(start, start + length),
        label="from here on",
        notes=[difference],
        help="if compiled code may rely on the new header, write it with `--update-aoti-c-shim`",
    )
