"""Which codes a check reports: the selection by code or its beginning, and the comments that suppress diagnostics."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from typing import Final

from opwright.plugins.code_pages import code_names
from opwright.source.diagnostic import Diagnostic, Diagnostics, Edit, did_you_mean
from opwright.source.records import NamedTuple
from opwright.source.span import SourceText, Span
from opwright.tools.tool_codes import NOT_LAID_OUT, NOT_NORMAL, UNKNOWN_SUPPRESSION, UNUSED_SUPPRESSION

#: What selects every code, also those of lints that run only if they are selected.
ALL: Final = "ALL"
#: What formatting fixes: schemas that are not in their normal form, files that are not in their layout, and errors, of
#: which some keep schemas from it.
FORMATTING: Final = (NOT_NORMAL, NOT_LAID_OUT, "E")

_PREFIX: Final = re.compile(r"(?:[EW]|[A-Z]{2,})[0-9]{0,4}")


def is_prefix(text: str) -> bool:
    """Whether a text is `ALL`, or a code or the beginning of one.

    >>> [is_prefix(text) for text in ("W22", "E0310", "W3", "all")]
    [True, True, False, False]
    """
    return text == ALL or (_PREFIX.fullmatch(text) is not None and any(code.startswith(text) for code in code_names()))


class CodeFilter(NamedTuple):
    """Which codes a report shows: those selected and not ignored.

    `select` replaces the default selection, None for the default; `extend_select` adds to it. Of two prefixes the
    longer one decides, and of equal ones `ignore`. `file_ignores` are patterns of paths with the prefixes that are
    ignored in these files.

    >>> codes = CodeFilter(ignore=("W22",), extend_select=("W2216",))
    >>> [codes.shows(code) for code in ("E0310", "W2215", "W2216")]
    [True, False, True]
    """

    select: tuple[str, ...] | None = None
    extend_select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    file_ignores: tuple[tuple[str, tuple[str, ...]], ...] = ()

    def shows(self, code: str, path: str = "", *, by_default: bool = True) -> bool:
        """Whether diagnostics with a code in a file are shown. A code that is not so `by_default` must be selected."""
        chosen = -1 if self.select is not None or not by_default else 0
        chosen = max(chosen, _longest(code, (*(self.select or ()), *self.extend_select)))
        ignored = [*self.ignore]
        for pattern, prefixes in self.file_ignores:
            if fnmatchcase(path, pattern) or fnmatchcase(path, f"*/{pattern}"):
                ignored += prefixes
        return _longest(code, ignored) < chosen


def _longest(code: str, prefixes: Sequence[str]) -> int:
    """Length of the longest prefix of a code: 0 for `ALL`, -1 if there is none."""
    lengths = [0 if prefix == ALL else len(prefix) for prefix in prefixes if prefix == ALL or code.startswith(prefix)]
    return max(lengths, default=-1)


_COMMENT: Final = re.compile(r"(?m)(?:^|(?<=[ \t]))#[ \t]*opwright:[ \t]*ignore\b(?:\[([^\]\r\n]*)\])?[^#\r\n]*")
_CODE: Final = re.compile(r"[^\s,]+")
_WORK: Final = "opwright:"


class Suppression:
    """A comment that suppresses diagnostics of a line.

    `codes` are the spans of its codes, none for a comment that suppresses all. `used` has the codes that suppressed a
    diagnostic, "" for those of a comment without codes.
    """

    __slots__ = ("codes", "line", "span", "used")

    def __init__(self, span: Span, line: int, codes: list[Span]) -> None:
        self.span: Final = span
        self.line: Final = line
        self.codes: Final = codes
        self.used: Final[set[str]] = set()

    def takes(self, diagnostic: Diagnostic) -> bool:
        """Whether the comment suppresses a diagnostic of its line; records what was used."""
        if not self.codes:
            self.used.add("")
            return True
        matches = [code.text for code in self.codes if diagnostic.code.startswith(code.text)]
        self.used.update(matches)
        return bool(matches)


def suppressions(file: SourceText) -> list[Suppression]:
    """Comments of a file that suppress diagnostics.

    >>> from opwright.source.text import SourceFile
    >>> text = "- func: f() -> ()  # opwright: ignore[W2216]\\n# opwright: ignore\\n- func: g() -> ()\\n"
    >>> [(comment.line, [code.text for code in comment.codes]) for comment in suppressions(SourceFile("a.yaml", text))]
    [(1, ['W2216']), (3, [])]
    """
    if _WORK not in file.text:
        return []
    return [_suppression(file, match) for match in _COMMENT.finditer(file.text)]


def _suppression(file: SourceText, match: re.Match[str]) -> Suppression:
    span = Span(file, match.start(), match.start() + len(match[0].rstrip()))
    codes = []
    if match[1] is not None:
        codes = [Span(file, match.start(1) + c.start(), match.start(1) + c.end()) for c in _CODE.finditer(match[1])]
    line = span.line
    if not file.line_text(line)[: span.column - 1].strip():
        line += 1
        while line < file.line_count and file.line_text(line).strip()[:1] in ("", "#"):
            line += 1
    return Suppression(span, line, codes)


def suppress(
    diagnostics: Iterable[Diagnostic], files: Iterable[SourceText], shown: CodeFilter
) -> tuple[list[Diagnostic], int]:
    """Diagnostics that no comment suppresses, with those about the comments, and the number of the others."""
    comments = [comment for file in files for comment in suppressions(file)]
    by_line: dict[tuple[str, int], list[Suppression]] = defaultdict(list)
    for comment in comments:
        by_line[comment.span.file.path, comment.line].append(comment)
    left, count = [], 0
    for diagnostic in diagnostics:
        span = diagnostic.span
        line_suppressions = () if span is None or not by_line else by_line.get((span.file.path, span.line), ())
        # Each comment records that it was used, so all of them are asked.
        answers = [comment.takes(diagnostic) for comment in line_suppressions]
        if any(answers):
            count += 1
        else:
            left.append(diagnostic)
    remarks = Diagnostics()
    for comment in comments:
        _report(comment, shown, remarks)
    return left + [remark for remark in remarks if shown.shows(remark.code)], count


def _report(comment: Suppression, shown: CodeFilter, sink: Diagnostics) -> None:
    """Reports codes of a comment that do not exist, and those that suppress nothing although they are selected."""
    unknown = [code for code in comment.codes if not is_prefix(code.text)]
    for code in unknown:
        message = f"no code is or begins with `{code.text}`"
        sink.warning(UNKNOWN_SUPPRESSION, message, code, help=did_you_mean(code.text, code_names()))
    unused = [
        code
        for code in comment.codes
        if code not in unknown
        and code.text not in comment.used
        and any(shown.shows(name) for name in code_names() if name.startswith(code.text))
    ]
    if not comment.codes and not comment.used:
        sink.warning(UNUSED_SUPPRESSION, "the comment suppresses nothing", comment.span, edits=_deletion(comment))
    elif unused:
        left = [code.text for code in comment.codes if code not in unused]
        start = comment.codes[0].start
        edits = [Edit(Span(comment.span.file, start, comment.codes[-1].end), ", ".join(left))]
        shown_codes = ", ".join([f"`{code.text}`" for code in unused])
        message = f"the comment suppresses no {shown_codes}"
        sink.warning(UNUSED_SUPPRESSION, message, unused[0], edits=edits if left else _deletion(comment))


def _deletion(comment: Suppression) -> tuple[Edit]:
    """Edit that deletes the comment, with its line if it stands alone."""
    file, start, end = comment.span
    line_start = file.line_starts[comment.span.line - 1]
    if not file.text[line_start:start].strip():
        start = line_start
        end = file.line_starts[comment.span.line] if comment.span.line < file.line_count else len(file.text)
    else:
        start -= len(file.text[line_start:start]) - len(file.text[line_start:start].rstrip())
    return (Edit(Span(file, start, end), ""),)
