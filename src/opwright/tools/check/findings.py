"""What is wrong with files: the diagnostics of all checks, selected, with fixes, without those that are suppressed."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

from opwright.backends.rows import BACKEND
from opwright.libraries.rows import LIBRARY
from opwright.release.inputs import Inputs
from opwright.source.diagnostic import Diagnostic, Diagnostics, Fault
from opwright.source.records import NamedTuple
from opwright.source.text import SourceFile
from opwright.tools.check.checked_files import CheckedFiles, check_requests
from opwright.tools.check.checking import CheckRequest, check
from opwright.tools.check.fixes import with_fixes
from opwright.tools.check.lints import LAYOUT
from opwright.tools.check.suppressions import CodeFilter, suppress, suppressions
from opwright.tools.files.layout import check_layout


class Findings(NamedTuple):
    """Diagnostics to report, in the order of their places, how many were suppressed, and the checked files.

    `left_out` are diagnostics about files of the release that no user named, because a user's file replaces one of
    them.
    """

    diagnostics: tuple[Diagnostic, ...]
    suppressed: int
    paths: tuple[str, ...]
    left_out: int = 0


def find(files: CheckedFiles, codes: CodeFilter, open_release: Callable[[], Inputs]) -> Findings:
    """Findings in files. `open_release` opens the release that files are checked against."""
    sink = Diagnostics(keeps_all_remarks=True)
    requests: list[CheckRequest] = []
    try:
        requests += check_requests(files, open_release, sink)
    except Fault as fault:
        sink.add(fault.diagnostic)
    read: dict[str, SourceFile] = {}

    def read_file(path: str) -> SourceFile:
        return read.setdefault(path, files.read(path))

    left_out = 0
    for request in requests:
        diagnostics = check(request._replace(codes=codes, read_file=read_file))
        shown_diagnostics = [diagnostic for diagnostic in diagnostics if _path(diagnostic) not in request.assumed]
        left_out += len(diagnostics) - len(shown_diagnostics)
        sink.extend(shown_diagnostics)
    if codes.shows(LAYOUT.code, by_default=LAYOUT.for_others):
        sink.extend(_layout_findings(files))
    named = {file.path: file for request in requests for file in request.files if file.path not in request.assumed}
    texts = read | named
    shown = [diagnostic for diagnostic in sink.sorted() if codes.shows(diagnostic.code, _path(diagnostic))]
    has_comments = any(suppressions(text) for text in texts.values())
    suppressed = 0
    if has_comments:
        shown, suppressed = suppress(shown, texts.values(), codes)
    ordered = Diagnostics(keeps_all_remarks=True)
    if shown:
        ordered.extend(with_fixes(shown))
    # A file of no known kind counts too.
    paths = {os.path.abspath(path): path for path in (*texts, *files.all_paths)}
    return Findings(ordered.sorted(), suppressed, tuple(paths.values()), left_out)


def _path(diagnostic: Diagnostic) -> str:
    return diagnostic.span.file.path if diagnostic.span is not None else ""


def _layout_findings(files: CheckedFiles) -> Iterator[Diagnostic]:
    """Files that are not in their canonical layout. Those that cannot be read are reported elsewhere."""
    for paths, dialect in ((files.paths, None), (files.backends, BACKEND), (files.libraries, LIBRARY)):
        for path in paths:
            try:
                finding = check_layout(files.read(path), dialect)
            except Fault:
                continue
            if finding is not None:
                yield finding
