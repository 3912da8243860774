"""Applies the fixes of diagnostics to files, and checks the files again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from opwright.source.codes import CHANGED_MEANWHILE
from opwright.source.diagnostic import Diagnostics, Fault, Severity
from opwright.source.line_diff import unified_lines
from opwright.source.records import NamedTuple
from opwright.source.text import SourceFile
from opwright.tools.check.findings import CheckedFiles, Findings
from opwright.tools.check.fixes import with_suggestions
from opwright.workspace.edits import apply_edits, edits_of_file
from opwright.workspace.user_files import UserFiles

#: A fix may uncover another one; a file needs few rounds.
_ROUNDS: Final = 10
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"


class FileChange(NamedTuple):
    """A file before and after its fixes."""

    before: SourceFile
    after: SourceFile

    @property
    def diff(self) -> str:
        """Difference as a unified diff."""
        before, after = (text.text.splitlines(keepends=True) for text in self)
        parts = unified_lines(before, after, (self.before.path, self.after.path))
        return "".join([part if part.endswith("\n") else f"{part}\n\\ No newline at end of file\n" for part in parts])


class FixOutcome(NamedTuple):
    """What fixing did: the changes, the number of fixes, and the findings in the files as they are then."""

    changes: tuple[FileChange, ...]
    fix_count: int
    findings: Findings


def fix_files(
    files: CheckedFiles, find: Callable[[CheckedFiles], Findings], *, suggestions: bool = False
) -> FixOutcome:
    """Apply the fixes of all findings in the files that the user names, until none is left; nothing is written.

    With `suggestions`, names that a help suggests are taken too where no fix is certain. Fixes after which a file has a
    mistake in its YAML are dropped, together with all others of the round.
    """
    findings = find(files)
    before = {text.path: text for text in files.texts}
    texts: dict[str, SourceFile] = {}
    count = 0
    for _ in range(_ROUNDS):
        fixed, round_count = dict(texts), 0
        diagnostics = with_suggestions(findings.diagnostics) if suggestions else findings.diagnostics
        for path in files.all_paths:
            edits, path_count = edits_of_file(diagnostics, path)
            if edits:
                source = edits[0].span.file
                before.setdefault(path, SourceFile(path, source.text, prefix_bytes=source.prefix_bytes))
                fixed[path] = SourceFile(path, apply_edits(source.text, edits), prefix_bytes=source.prefix_bytes)
                round_count += path_count
        if not round_count:
            break
        others = tuple([text for text in files.texts if text.path not in fixed])
        after = find(files._replace(texts=(*others, *fixed.values())))
        if set(_yaml_errors(after)) - set(_yaml_errors(findings)):
            break
        texts, findings, count = fixed, after, count + round_count
    file_changes = [FileChange(before[path], text) for path, text in texts.items() if text.text != before[path].text]
    return FixOutcome(tuple(file_changes), count, findings)


def _yaml_errors(findings: Findings) -> Iterator[tuple[str, str]]:
    """Files with mistakes in their YAML, each with the code."""
    for diagnostic in findings.diagnostics:
        if diagnostic.severity is Severity.ERROR and diagnostic.code.startswith("E01") and diagnostic.span is not None:
            yield diagnostic.span.file.path, diagnostic.code


def write_changes(outcome: FixOutcome) -> None:
    """Write the changed files, each at once.

    A file that changed since it was read is left as it is, and so is one that cannot be written. Raises FaultsFound
    with an error for each of them, after all others are written.
    """
    sink = Diagnostics()
    with UserFiles() as files:
        for before, after in outcome.changes:
            try:
                if not files.replace(before.path, _file_bytes(before), _file_bytes(after)):
                    message = f"`{before.path}` changed while it was checked; it is left as it is"
                    sink.error(CHANGED_MEANWHILE, message, help="run the command again")
            except Fault as fault:
                sink.add(fault.diagnostic)
    sink.raise_if_errors()


def _file_bytes(text: SourceFile) -> bytes:
    return (_BYTE_ORDER_MARK if text.prefix_bytes else b"") + text.text.encode("utf-8")
