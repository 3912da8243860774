"""A whole check of open files, in a process of its own that the server stops when the texts have changed.

The process reads one JSON object: the texts of files by their paths, the folder of the project, and the plug-ins that
are asked for. It writes the report of `opwright check --format json`.
"""

from __future__ import annotations

import json
from typing import TextIO

from opwright.check.formats import render_json
from opwright.check.settings import NO_SETTINGS, Settings, find_settings, load_settings
from opwright.lsp.project import PluginRequest, activate_plugins
from opwright.release.inputs import Inputs, open_inputs
from opwright.run.checked_files import CheckedFiles, kind_of
from opwright.run.findings import find
from opwright.source.diagnostic import Diagnostics, Fault
from opwright.source.text import SourceFile

__all__ = ["check_texts"]


def check_texts(
    request: TextIO, report: TextIO, torch: str | None, source_path: str | None, allowed_paths: tuple[str, ...]
) -> None:
    """Check the files of a request against a PyTorch, and write the report.

    Heads may name `allowed_paths` outside of their projects.
    """
    asked = json.load(request)
    texts = tuple([SourceFile(path, text) for path, text in asked["texts"].items()])
    texts = tuple([text for text in texts if kind_of(text) is not None])
    sink = Diagnostics()
    activate_plugins(PluginRequest(*asked["plugins"]), texts, sink)
    settings = _settings(asked["folder"])

    def open_release() -> Inputs:
        return open_inputs(torch or (None if source_path else settings.torch), source_path)

    files = CheckedFiles(tuple([text.path for text in texts]), texts=texts, allowed_paths=allowed_paths)
    sink.extend(find(files, settings.codes, open_release).diagnostics)
    report.write(render_json(sink.sorted()))


def _settings(folder: str) -> Settings:
    """The settings of the project in a folder; those with faults are left out."""
    path = find_settings(folder)
    try:
        return NO_SETTINGS if path is None else load_settings(SourceFile.read(path), Diagnostics())
    except Fault:
        return NO_SETTINGS
