"""Explain a YAML parser's errors so that the author of the file can fix them.

The parser reports a rule of the YAML grammar and a position. The text around the position shows which mistake broke the
rule. The C parser and the Python parser word their errors differently, so the tests for words in them are loose.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

import yaml
from yaml.scanner import Scanner

from opwright.source.codes import (
    ALIAS_WRONG,
    BAD_ESCAPE,
    BRACKET_OPEN,
    CONFLICT,
    CONTROL_CHARACTER,
    MISPLACED,
    NOT_YAML,
    QUOTE_OPEN,
    TAB_INDENTS,
)
from opwright.source.diagnostic import Fault, Label
from opwright.source.lazy import lazy_pattern
from opwright.source.span import SourceText, Span


class _Complaint:
    """The parser's message in lower case, and the two positions in it."""

    __slots__ = ("at", "context", "file", "opened_at", "problem", "text")

    def __init__(self, file: SourceText, error: yaml.MarkedYAMLError) -> None:
        self.file = file
        self.text = file.text
        self.problem = (error.problem or "").lower()
        self.context = (error.context or "").lower()
        mark, context_mark = error.problem_mark, error.context_mark
        reported = mark or context_mark
        self.at = len(self.text) if reported is None else min(reported.index, len(self.text))
        # If there is no context, the C parser repeats the problem's position as the context's.
        self.opened_at = self.at if context_mark is None else min(context_mark.index, len(self.text))

    @property
    def character(self) -> str:
        return self.text[self.at : self.at + 1]

    @property
    def line_before(self) -> str:
        """Text of the line before the position."""
        line, column = self.file.line_and_column(self.at)
        return self.file.line_text(line)[: column - 1]

    def line_above(self) -> Span | None:
        """Nearest line above that is not blank, without its indentation."""
        for line in range(self.file.line_and_column(self.at)[0] - 1, 0, -1):
            text = self.file.line_text(line)
            if text.strip():
                start = self.file.offset(line)
                return self.file.span(start + len(text) - len(text.lstrip()), start + len(text.rstrip()))
        return None

    def fault(self, code: str, message: str, label: str, *, help: str = "", at: int | None = None) -> Fault:
        start = self.at if at is None else at
        return Fault.at(code, message, self.file.span(start, start + 1), label=label, help=help)


def encoding_fault(file: SourceText) -> Fault:
    """Fault for the first forbidden character of a file."""
    allowed = "\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff"
    match = re.search(f"[^{allowed}]", file.text)
    if match is None:
        return Fault.at(NOT_YAML, "the file cannot be read as YAML", file.span(0))
    return Fault.at(
        CONTROL_CHARACTER,
        f"the character U+{ord(match.group()):04X} cannot stand in a YAML file",
        file.span(match.start(), match.end()),
        help="delete it, or write it as an escape inside double quotes",
    )


#: The markers of a Git conflict: before the first side, between the sides, and after the second.
_CONFLICT = lazy_pattern(r"^<{7}(?: .*)?$", re.MULTILINE)
_CONFLICT_MIDDLE = lazy_pattern(r"^={7}\r?$", re.MULTILINE)
_CONFLICT_END = lazy_pattern(r"^>{7}(?: .*)?$", re.MULTILINE)


def syntax_fault(file: SourceText, error: yaml.MarkedYAMLError) -> Fault:
    """Fault for an error of the YAML parser."""
    conflict = conflict_fault(file)
    if conflict is not None:
        return conflict
    complaint = _Complaint(file, error)
    for part, words, reading in _READINGS:
        message = complaint.problem if part == "problem" else complaint.context
        if any(word in message for word in words) and (fault := reading(complaint)) is not None:
            return fault
    return complaint.fault(NOT_YAML, f"the file is not YAML: {error.problem or error.context}", "here")


def conflict_fault(file: SourceText) -> Fault | None:
    """Fault for the first Git conflict in a text; None if there is none."""
    marker = _CONFLICT.search(file.text)
    if marker is None:
        return None
    others: list[Label] = []
    for text, pattern in (("the other side begins here", _CONFLICT_MIDDLE), ("it ends here", _CONFLICT_END)):
        further = pattern.search(file.text, marker.end())
        if further is not None:
            others.append(Label(file.span(*further.span()), text, primary=False))
    count = sum(1 for _ in _CONFLICT.finditer(file.text))
    notes = (f"the file has {count} conflicts",) if count > 1 else ()
    return Fault.at(
        CONFLICT,
        "a merge conflict was not resolved",
        file.span(*marker.span()),
        label="one side begins here",
        notes=notes,
        help="keep what is right of the two sides, and delete the marks of Git",
        also=others,
    )


def _tab(complaint: _Complaint) -> Fault:
    return complaint.fault(TAB_INDENTS, "a tab cannot indent YAML", "a tab", help="indent with spaces")


def _open_quote(complaint: _Complaint) -> Fault | None:
    if "end of stream" not in complaint.problem and "document" not in complaint.problem:
        return None
    quote = complaint.text[complaint.opened_at]
    hint = "a single quote inside is written twice" if quote == "'" else 'a double quote inside is written `\\"`'
    return complaint.fault(
        QUOTE_OPEN, "the quote is never closed", "opened here", help=f"close it; {hint}", at=complaint.opened_at
    )


def _bad_escape(complaint: _Complaint) -> Fault:
    start = complaint.text.rfind("\\", complaint.opened_at, complaint.at + 1)
    escape = complaint.file.span(start, start + 2) if start >= 0 else complaint.file.span(complaint.at)
    digits = Scanner.ESCAPE_CODES.get(escape.text[1:])
    return Fault.at(
        BAD_ESCAPE,
        f"`{escape.text}` needs {digits} hexadecimal digits" if digits else f"unknown escape `{escape.text}`",
        escape,
        help="write the backslash twice, or use single quotes",
    )


def _reserved_character(complaint: _Complaint) -> Fault:
    if complaint.character == "\t":
        return _tab(complaint)
    name = "a backquote" if complaint.character == "`" else f"`{complaint.character}`"
    return complaint.fault(NOT_YAML, f"{name} cannot start a value", "reserved by YAML", help="put the value in quotes")


def _misplaced_colon(complaint: _Complaint) -> Fault:
    before = complaint.line_before
    if re.search(r"[:?-]\s", before.lstrip(" -")):
        name = re.search(r"\bfunc: .*\((?:.*, )?(\w+)$", before)
        help = f"write the type before the name, such as `Tensor {name[1]}`" if name else "put the value in quotes"
        return complaint.fault(
            MISPLACED, "a value without quotes cannot hold `: `", "a second key on one line", help=help
        )
    above = complaint.line_above()
    indent = len(before) - len(before.lstrip())
    if above is not None and above.column == indent + 1:
        return _line_without_colon(above)
    return Fault.at(
        MISPLACED,
        "a key cannot stand here",
        complaint.file.span(complaint.at - len(before) + indent, max(complaint.at, 1)),
        label="indented deeper than the line that it should align with",
        help="align the line with the keys beside it, or put the value above in quotes",
    )


def _line_without_colon(line: Span) -> Fault:
    if re.match(r"-\S", line.text):
        return Fault.at(
            MISPLACED,
            "a list item needs a space after its dash",
            line,
            label="not a list item",
            help=f"write `- {line.text[1:]}`",
        )
    return Fault.at(
        MISPLACED,
        "a key needs a `:`",
        line,
        label="no `:` follows",
        help="write `key: value`, or indent the line deeper if it continues the value above",
    )


def _misplaced_item(complaint: _Complaint) -> Fault:
    return complaint.fault(
        MISPLACED, "a list item cannot stand here", "not at the start of a line", help="give the list lines of its own"
    )


def _missing_colon(complaint: _Complaint) -> Fault:
    start = complaint.opened_at
    line = complaint.file.line_and_column(start)[0]
    end = complaint.file.offset(line) + len(complaint.file.line_text(line).rstrip())
    return _line_without_colon(complaint.file.span(start, max(end, start + 1)))


def _open_bracket(complaint: _Complaint) -> Fault:
    opened, found_at = complaint.file.line_and_column(complaint.opened_at), complaint.file.line_and_column(complaint.at)
    bracket = complaint.text[complaint.opened_at : complaint.opened_at + 1]
    closing = "]" if bracket == "[" else "}"
    if found_at[0] != opened[0] or complaint.at >= len(complaint.text.rstrip()):
        return complaint.fault(
            BRACKET_OPEN, f"the `{bracket}` is never closed", "opened here", help=f"close it with `{closing}`",
            at=complaint.opened_at,
        )  # fmt: skip
    return Fault.at(
        BRACKET_OPEN,
        f"expected `,` or `{closing}`",
        complaint.file.span(complaint.at, complaint.at + 1),
        label="found this",
        also=[Label(complaint.file.span(complaint.opened_at, complaint.opened_at + 1), "opened here", primary=False)],
        help="put a value in quotes if it is text that holds brackets or commas",
    )


def _wrong_depth(complaint: _Complaint) -> Fault | None:
    if "node" in complaint.context:
        return None
    closing = complaint.line_before.rstrip()[-1:]
    if closing and closing in "'\"]}":
        return complaint.fault(
            MISPLACED,
            f"text stands behind the closing `{closing}`",
            "not part of the value",
            help="put the whole value in quotes",
        )
    is_list = "collection" in complaint.context or "sequence" in complaint.context
    wanted = "a list item" if is_list else "a key"
    block = complaint.file.span(complaint.opened_at, complaint.opened_at + 1)
    return Fault.at(
        MISPLACED,
        f"expected {wanted} at the depth of those before it",
        complaint.file.span(complaint.at, complaint.at + 1),
        label="this line does not belong to any level above",
        also=[Label(block, f"the {'list' if is_list else 'mapping'} starts here", primary=False)],
        help="align the line with the ones it belongs to",
    )


def _malformed_alias(complaint: _Complaint) -> Fault:
    word = "alias" if "alias" in complaint.context else "anchor"
    sign = "*" if word == "alias" else "&"
    return complaint.fault(
        ALIAS_WRONG,
        f"`{sign}` starts the name of an {word}, which has letters, digits, `-` and `_` only",
        f"not the name of an {word}",
        help="put the value in quotes if it is text",
        at=complaint.opened_at,
    )


def _content_fault(complaint: _Complaint) -> Fault:
    if complaint.at >= len(complaint.text.rstrip()):
        if "flow" in complaint.context:
            return complaint.fault(BRACKET_OPEN, "the file ends inside a bracket or brace", "not closed before here")
        return complaint.fault(MISPLACED, "a value is missing here", "the file ends")
    return complaint.fault(
        MISPLACED, f"`{complaint.character}` cannot stand here", "unexpected", help="put it in quotes if it is text"
    )


#: What the parser says, in its problem or in the context of that -> the mistake. The first one that fits is told.
_READINGS: Final[tuple[tuple[str, tuple[str, ...], Callable[[_Complaint], Fault | None]], ...]] = (
    ("problem", ("tab character",), _tab),
    ("context", ("quoted scalar",), _open_quote),
    ("problem", ("escape", "hexdec"), _bad_escape),
    ("problem", ("cannot start any token",), _reserved_character),
    ("problem", ("mapping values",), _misplaced_colon),
    ("problem", ("sequence entries",), _misplaced_item),
    ("problem", ("could not find expected ':'",), _missing_colon),
    ("context", ("flow sequence", "flow mapping"), _open_bracket),
    ("context", ("while parsing a block",), _wrong_depth),
    ("context", ("alias", "anchor"), _malformed_alias),
    ("problem", ("node content", "<document start>"), _content_fault),
)
