"""A check of open files, or the fixes of one, in a process of its own that the server stops when texts have changed.

The process reads one JSON object: the texts of files by their paths, the one that the user waits for first, the folder
of the project, and the plug-ins that are asked for. It answers with lines of JSON. Each has the paths of some files and
their diagnostics as `opwright check --format json` reports them; the last one says that it is the last. For a file
whose fixes are asked for, there is one line with its new text.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any, TextIO

from opwright.release.inputs import Inputs, open_inputs
from opwright.source.diagnostic import Diagnostics, Fault
from opwright.source.text import SourceFile
from opwright.tools.check.findings import CheckedFiles, Findings, find
from opwright.tools.check.fixing import fix_files
from opwright.tools.check.settings import NO_SETTINGS, Settings, find_settings, load_settings
from opwright.tools.check.suppressions import CodeFilter
from opwright.tools.files.file_kinds import kind_of
from opwright.tools.lsp.diagnosis import diagnostic_rows
from opwright.tools.lsp.project import activate_plugins, tree_of


def check_texts(
    request: TextIO, report: TextIO, torch: str | None, source_path: str | None, allowed_paths: tuple[str, ...]
) -> None:
    """Check the files of a request against a PyTorch, or fix one, and write the reports.

    Heads may name `allowed_paths` outside of their projects. Without a request there is no report.
    """
    text = request.read()
    if not text:
        return
    asked = json.loads(text)
    texts = tuple([SourceFile(path, text) for path, text in asked["texts"].items()])
    texts = tuple([text for text in texts if kind_of(text) is not None])
    sink = Diagnostics()
    activate_plugins(asked["plugins"], texts, sink)
    settings = _settings(asked["folder"])

    def open_release() -> Inputs:
        return open_inputs(torch or (None if source_path else settings.torch), source_path)

    def checked(paths: list[str]) -> CheckedFiles:
        return CheckedFiles(tuple(paths), texts=texts, allowed_paths=allowed_paths)

    fixed = asked.get("fixed")
    if fixed is not None:
        codes = settings.codes if asked["select"] is None else settings.codes._replace(select=tuple(asked["select"]))
        _report(report, {"text": _fixed_text(checked([fixed]), codes, open_release), "is_last": True})
        return
    batches = list(_batches(texts))
    for number, paths in enumerate(batches, 1):
        text_sink = Diagnostics(keeps_all_remarks=True)
        text_sink.extend(sink)
        text_sink.extend(find(checked(paths), settings.codes, open_release).diagnostics)
        rows = diagnostic_rows(text_sink.sorted())
        _report(report, {"paths": paths, "diagnostics": rows, "is_last": number == len(batches)})


def _report(report: TextIO, answer: dict[str, Any]) -> None:
    report.write(json.dumps(answer) + "\n")
    report.flush()


def _batches(texts: tuple[SourceFile, ...]) -> Iterator[list[str]]:
    """The files in the order in which they are checked: the first one as soon as possible, then all others.

    Files of a tree of PyTorch are checked together in any case. Others may be about the same operators, so those of the
    second check are all of them.
    """
    trees = {text.path: tree_of(text.path, kind_of(text)) for text in texts}
    first = next(iter(trees), None)
    tree = None if first is None else trees[first]
    others = [path for path in trees if tree is None or trees[path] != tree]
    if first is None or (tree is None and len(others) > 1):
        yield [] if first is None else [first]
        others = list(trees)
    elif tree is not None:
        yield [path for path in trees if trees[path] == tree]
    if others:
        yield others


def _fixed_text(files: CheckedFiles, codes: CodeFilter, open_release: Callable[[], Inputs]) -> str | None:
    """The text of the file after its fixes; None if they change nothing."""

    def check(files: CheckedFiles) -> Findings:
        return find(files, codes, open_release)

    return next((change.after.text for change in fix_files(files, check).changes), None)


def _settings(folder: str) -> Settings:
    """The settings of the project in a folder; those with faults are left out."""
    path = find_settings(folder)
    try:
        return NO_SETTINGS if path is None else load_settings(SourceFile.read_plain(path), Diagnostics())
    except Fault:
        return NO_SETTINGS
