"""Formats of reports: commands of GitHub workflows, JSON, SARIF 2.1.0 for code scanning services, and counts."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Final
from urllib.parse import quote

from opwright.plugins.code_pages import Code, find_code, is_plugin_code
from opwright.source.diagnostic import Diagnostic, Edit, Severity
from opwright.source.snippet import printable
from opwright.source.span import Span
from opwright.tools.check.fixes import suggestion

_COMMANDS: Final = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}
_IN_DATA: Final = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
_IN_PROPERTIES: Final = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A", ":": "%3A", ",": "%2C"})


def render_github(diagnostics: Sequence[Diagnostic]) -> str:
    """One command for each diagnostic, with its place, code, message, notes and help.

    >>> from opwright.source.diagnostic import Diagnostics
    >>> from opwright.source.span import SourceText
    >>> sink = Diagnostics()
    >>> sink.error("E0312", "100% wrong", SourceText("ops.yaml", "a: b").span(3, 4), help="delete it")
    >>> print(render_github(sink.sorted()), end="")
    ::error file=ops.yaml,line=1,endLine=1,col=4,endColumn=5,title=E0312::100%25 wrong%0Ahelp: delete it
    """
    return "".join([_command(diagnostic) for diagnostic in diagnostics])


_SEVERITIES: Final = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "advice"}


def render_lintrunner(diagnostics: Sequence[Diagnostic]) -> str:
    """One line of JSON for each diagnostic: a message of lintrunner, which PyTorch checks its tree with.

    >>> from opwright.source.diagnostic import Diagnostics
    >>> from opwright.source.span import SourceText
    >>> sink = Diagnostics()
    >>> sink.warning("W2219", "twice", SourceText("ops.yaml", "a: b").span(3, 4), help="delete it")
    >>> print(render_lintrunner(sink.sorted())[:72])
    {"path": "ops.yaml", "line": 1, "char": 4, "code": "OPWRIGHT", "severity
    """
    return "".join([f"{json.dumps(_lint_message(diagnostic))}\n" for diagnostic in diagnostics])


def _lint_message(diagnostic: Diagnostic) -> dict[str, object]:
    path, line, column = None, None, None
    if diagnostic.span is not None:
        path = _shown_path(diagnostic.span.file.path)
        line, column = diagnostic.span.file.line_and_column(diagnostic.span.start)
    return {
        "path": path,
        "line": line,
        "char": column,
        "code": "OPWRIGHT",
        "severity": _SEVERITIES[diagnostic.severity],
        "name": diagnostic.code,
        "original": None,
        "replacement": None,
        "description": "\n".join(_all_lines(diagnostic)),
    }


def _all_lines(diagnostic: Diagnostic) -> list[str]:
    """The message, the notes and the help."""
    lines = [diagnostic.message, *[f"note: {note}" for note in diagnostic.notes]]
    if diagnostic.help:
        lines.append(f"help: {diagnostic.help}")
    return [printable(line) for text in lines for line in text.splitlines()]


def _shown_path(path: str) -> str:
    """A path below the working folder, from there."""
    is_below = os.path.isabs(path) and path.startswith(os.getcwd() + os.sep)
    return (os.path.relpath(path) if is_below else path).replace(os.sep, "/")


def _command(diagnostic: Diagnostic) -> str:
    properties: dict[str, object] = {}
    span = diagnostic.span
    if span is not None:
        line, column = span.file.line_and_column(span.start)
        end_line, end_column = span.file.line_and_column(max(span.start, span.end))
        properties = {"file": _shown_path(span.file.path), "line": line, "endLine": end_line}
        if line == end_line:
            # GitHub takes columns only where a place is on one line.
            properties |= {"col": column, "endColumn": max(end_column, column + 1)}
    properties["title"] = diagnostic.code
    shown_properties = ",".join([f"{key}={str(value).translate(_IN_PROPERTIES)}" for key, value in properties.items()])
    text = "\n".join(_all_lines(diagnostic))
    return f"::{_COMMANDS[diagnostic.severity]} {shown_properties}::{text.translate(_IN_DATA)}\n"


def render_statistics(diagnostics: Sequence[Diagnostic]) -> str:
    """A line for each code, the most frequent first: how many findings it has, and its title.

    >>> from opwright.source.diagnostic import Diagnostics
    >>> sink = Diagnostics()
    >>> for code in ("E0113", "E0001"):
    ...     sink.error(code, "no such file: `ops.yaml`")
    >>> print(render_statistics(sink.since(0)), end="")
        1  E0001  the file does not exist
        1  E0113  a bracket or brace is not closed, or its items are not separated
    """
    counts = Counter(diagnostic.code for diagnostic in diagnostics)
    titles = {code: row.title for code in counts if (row := find_code(code)) is not None}
    rows = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return "".join([f"{count:5}  {code}  {titles.get(code, '')}".rstrip() + "\n" for code, count in rows])


#: The version of the form. It changes when a field changes its meaning or goes away, not when one is added.
VERSION: Final = 1


def render_json(diagnostics: Sequence[Diagnostic]) -> str:
    """Diagnostics as JSON; lines and columns count characters from 1, offsets from 0.

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
    return {
        "code": diagnostic.code,
        "severity": diagnostic.severity.value,
        "message": diagnostic.message,
        "place": None if span is None else _place(span),
        "labels": [
            {"place": _place(label.span), "text": label.text, "primary": label.primary} for label in diagnostic.labels
        ],
        "notes": [*diagnostic.notes],
        "help": str(diagnostic.help) or None,
        "fix": _edits(diagnostic.edits),
        "suggestion": _edits(suggestion(diagnostic)),
    }


def _edits(edits: Sequence[Edit]) -> dict[str, object] | None:
    return {"edits": [{**_place(edit.span), "text": edit.text} for edit in edits]} if edits else None


def _place(span: Span) -> dict[str, object]:
    return {"path": span.file.path, "start": _point(span, span.start), "end": _point(span, span.end)}


def _point(span: Span, offset: int) -> dict[str, int]:
    line, column = span.file.line_and_column(offset)
    return {"line": line, "column": column, "offset": offset}


_SCHEMA: Final = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_LEVELS: Final = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "note"}
_LEVELS_OF_CODES: Final = {"E": "error", "W": "warning"}
_HOME: Final = "https://github.com/opwright/opwright"
_PAGES: Final = f"{_HOME}/blob/main/docs/diagnostics.md"
_ROOT: Final = "%SRCROOT%"


def render_sarif(diagnostics: Sequence[Diagnostic], version: str) -> str:
    """Diagnostics as the log of one run of a version of Opwright."""
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
        **({"helpUri": address} if (address := page_address(code.code)) is not None else {}),
        "defaultConfiguration": {"level": _LEVELS_OF_CODES[code.code[0]]},
    }


@cache
def page_address(code: str) -> str | None:
    """Where the documentation explains a code; None for the codes of plug-ins, and for those that do not exist.

    >>> page_address("E0310")
    'https://github.com/opwright/opwright/blob/main/docs/diagnostics.md#e0310-unknown-dispatch-key'
    """
    row = None if is_plugin_code(code) else find_code(code)
    if row is None:
        return None
    # GitHub makes the anchor of a heading so.
    anchor = re.sub(r"[^\w\- ]", "", f"{row.code}: {row.title}".lower()).replace(" ", "-")
    return f"{_PAGES}#{anchor}"


def _result(diagnostic: Diagnostic, numbers: Mapping[str, int]) -> dict[str, object]:
    words = [diagnostic.message, *diagnostic.notes, *filter(None, [str(diagnostic.help)])]
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
        result["relatedLocations"] = [
            {"physicalLocation": _location(label.span), **({"message": {"text": label.text}} if label.text else {})}
            for label in others
        ]
    if diagnostic.edits:
        result["fixes"] = [_fix(diagnostic)]
    return result


def _location(span: Span) -> dict[str, object]:
    return {"artifactLocation": _artifact(span.file.path), "region": _region(span)}


def _artifact(path: str) -> dict[str, str]:
    """Place of a file, below the folder of the run if it is there."""
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
        {
            "artifactLocation": _artifact(path),
            "replacements": [
                {"deletedRegion": _region(edit.span), "insertedContent": {"text": edit.text}} for edit in edits
            ],
        }
        for path, edits in by_path.items()
    ]
    return {"description": {"text": str(diagnostic.help) or diagnostic.message}, "artifactChanges": changes}
