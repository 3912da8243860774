"""Reports as SARIF 2.1.0, the form that code scanning services read."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from typing import Final
from urllib.parse import quote

from opwright.source.code_pages import Code, find_code
from opwright.source.diagnostic import Diagnostic, Edit, Label, Severity
from opwright.source.span import Span

__all__ = ["render_sarif"]

_SCHEMA: Final = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_LEVELS: Final = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "note"}
_LEVELS_OF_CODES: Final = {"E": "error", "W": "warning"}
_HOME: Final = "https://github.com/opwright/opwright"
_PAGES: Final = f"{_HOME}/blob/main/docs/diagnostics.md"
_ROOT: Final = "%SRCROOT%"


def render_sarif(diagnostics: Sequence[Diagnostic], version: str) -> str:
    """The diagnostics as the log of one run of a version of Opwright."""
    codes = sorted({diagnostic.code for diagnostic in diagnostics})
    rows = [row for row in map(find_code, codes) if row is not None]
    numbers = {row.code: number for number, row in enumerate(rows)}
    driver = {
        "name": "opwright",
        "version": version,
        "informationUri": _HOME,
        "rules": [_rule(row) for row in rows],
    }
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {_ROOT: {"description": {"text": "The folder in which opwright ran."}}},
        "results": [_result(diagnostic, numbers) for diagnostic in diagnostics],
    }
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"


def _rule(code: Code) -> dict[str, object]:
    return {
        "id": code.code,
        "shortDescription": {"text": code.title},
        "fullDescription": {"text": code.title},
        "help": {"text": code.page},
        "helpUri": f"{_PAGES}#{_anchor(f'{code.code}: {code.title}')}",
        "defaultConfiguration": {"level": _LEVELS_OF_CODES[code.code[0]]},
    }


def _anchor(heading: str) -> str:
    """The anchor that GitHub gives to a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def _result(diagnostic: Diagnostic, numbers: Mapping[str, int]) -> dict[str, object]:
    words = [diagnostic.message, *diagnostic.notes, *([str(diagnostic.help)] if diagnostic.help else [])]
    result: dict[str, object] = {
        "ruleId": diagnostic.code,
        "ruleIndex": numbers[diagnostic.code],
        "level": _LEVELS[diagnostic.severity],
        "message": {"text": "\n".join(words)},
    }
    span = diagnostic.span
    if span is not None:
        result["locations"] = [{"physicalLocation": _location(span)}]
    others = [label for label in diagnostic.labels if label.span is not span]
    if others:
        result["relatedLocations"] = [_related_location(label) for label in others]
    if diagnostic.edits:
        result["fixes"] = [_fix(diagnostic)]
    return result


def _related_location(label: Label) -> dict[str, object]:
    location: dict[str, object] = {"physicalLocation": _location(label.span)}
    return {**location, "message": {"text": label.text}} if label.text else location


def _location(span: Span) -> dict[str, object]:
    return {"artifactLocation": _artifact(span.file.path), "region": _region(span)}


def _artifact(path: str) -> dict[str, str]:
    """The place of a file, below the folder of the run if it is there."""
    folder = os.getcwd() + os.sep
    relative = path[len(folder) :] if path.startswith(folder) else path
    if os.path.isabs(relative):
        return {"uri": f"file://{quote(relative.replace(os.sep, '/'))}"}
    return {"uri": quote(os.path.normpath(relative).replace(os.sep, "/")), "uriBaseId": _ROOT}


def _region(span: Span) -> dict[str, int]:
    line, column = span.file.line_and_column(span.start)
    end_line, end_column = span.file.line_and_column(span.end)
    return {"startLine": line, "startColumn": column, "endLine": end_line, "endColumn": end_column}


def _fix(diagnostic: Diagnostic) -> dict[str, object]:
    by_path: dict[str, list[Edit]] = {}
    for edit in diagnostic.edits:
        by_path.setdefault(edit.span.file.path, []).append(edit)
    changes = [
        {"artifactLocation": _artifact(path), "replacements": [_replacement(edit) for edit in edits]}
        for path, edits in by_path.items()
    ]
    return {"description": {"text": str(diagnostic.help) or diagnostic.message}, "artifactChanges": changes}


def _replacement(edit: Edit) -> dict[str, object]:
    return {"deletedRegion": _region(edit.span), "insertedContent": {"text": edit.text}}
