"""The files that an editor has open, with the PyTorch that each belongs to, and the plug-ins of the server."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from contextvars import ContextVar
from functools import cache, lru_cache
from typing import Any, Final, TypeAlias

from opwright.dialects.dialect import Dialect
from opwright.dialects.table import DEPRECATED, DERIVATIVES, NATIVE_FUNCTIONS, TAGS
from opwright.plugins.discovery import load_plugin
from opwright.plugins.plugin import Plugin
from opwright.plugins.use import ensure_active
from opwright.release.inputs import Inputs, from_source_path
from opwright.source.diagnostic import Diagnostic, Diagnostics, Fault, FaultsFound, Label
from opwright.source.records import NamedTuple, frozen_fields
from opwright.source.text import SourceFile
from opwright.tools.files.file_kinds import kind_of as find_kind
from opwright.tools.files.file_kinds import tree_around
from opwright.workspace.overlay import with_texts


def activate_plugins(names: Sequence[str], texts: Sequence[SourceFile], sink: Diagnostics) -> None:
    """Activate plug-ins, but for those with faults, which the sink gets, where the first open file begins."""
    plugins: list[Plugin] = []
    for name in names:
        try:
            plugin = load_plugin(name)
            ensure_active([*plugins, plugin])
        except (Fault, FaultsFound) as raised:
            plugin_sink = Diagnostics()
            plugin_sink.take(raised)
            sink.extend([_in_texts(diagnostic, texts) for diagnostic in plugin_sink])
            continue
        plugins.append(plugin)
    ensure_active(plugins)


def _in_texts(diagnostic: Diagnostic, texts: Sequence[SourceFile]) -> Diagnostic:
    """A diagnostic with a place in an open file: its own, else where the first file begins."""
    at = diagnostic.span
    if not texts or (at is not None and at.file in texts):
        return diagnostic
    notes = [] if at is None else [f"at {at}"]
    return diagnostic._replace(labels=(Label(texts[0].span(0)),), notes=(*notes, *diagnostic.notes))


#: A diagnostic in the form of `opwright check --format json`.
DiagnosticRow: TypeAlias = Mapping[str, Any]


@frozen_fields
class FileReport:
    """The diagnostics of a file, and the text that they are about."""

    file: SourceFile
    rows: list[DiagnosticRow]


_OF_PYTORCH: Final = (TAGS, NATIVE_FUNCTIONS, DERIVATIVES, DEPRECATED)


class _KnownInputs(NamedTuple):
    """A PyTorch with texts in place of its files, and the stamps of these files when it was opened."""

    stamps: tuple[tuple[int, int], ...]
    texts: dict[str, SourceFile]
    inputs: Inputs


class PendingRequest:
    """A request that a thread answers: the texts as they were when it came, and whether somebody still waits."""

    def __init__(self, texts: Mapping[str, SourceFile]) -> None:
        self.texts: Final = texts
        self.is_over = False


class NobodyWaits(Exception):
    """Raised in a thread whose answer nobody waits for."""


_REQUEST: Final[ContextVar[PendingRequest | None]] = ContextVar("request", default=None)


class Project:
    """Open files by path, whose texts are read in place of the files on disk.

    A thread that answers a request sees them as they were when it came, while the editor changes them.

    `open_release` opens the PyTorch that files outside of PyTorch's trees belong to. Heads may name `allowed_paths`
    outside of their projects.
    """

    def __init__(self, open_release: Callable[[], Inputs], allowed_paths: tuple[str, ...] = ()) -> None:
        self.allowed_paths: Final = allowed_paths
        self._open_release: Final = cache(open_release)
        #: No dictionary changes: threads read them.
        self._texts: Mapping[str, SourceFile] = {}
        #: The C++ sources that ask for too much work, with the diagnostic of each. Threads replace the dictionary.
        self.limits: Mapping[str, tuple[SourceFile, Diagnostic]] = {}
        self._inputs: Final[dict[str | None, _KnownInputs]] = {}

    @property
    def texts(self) -> Mapping[str, SourceFile]:
        """The open files by their paths. Raises NobodyWaits in a thread that may end."""
        request = _REQUEST.get()
        if request is None:
            return self._texts
        if request.is_over:
            raise NobodyWaits
        return request.texts

    def begin_request(self) -> PendingRequest:
        """Let the present task, and its threads, see the texts as they are now."""
        request = PendingRequest(self._texts)
        _REQUEST.set(request)
        return request

    def is_outdated(self, request: PendingRequest) -> bool:
        """Whether a text has changed since a request came."""
        return request.texts is not self._texts

    def put(self, path: str, text: str) -> SourceFile:
        """Open a file, or replace its text."""
        file = SourceFile(path, text)
        self._texts = {**self._texts, path: file}
        return file

    def close(self, path: str) -> None:
        """Close a file: from now on it is read from disk."""
        self._texts = {path_texts: text for path_texts, text in self._texts.items() if path_texts != path}

    def read(self, path: str) -> SourceFile | None:
        """The text of a file; None if it cannot be read, or is a device or a pipe, which may never end."""
        text = self.texts.get(path)
        if text is not None:
            return text
        try:
            return SourceFile.read_plain(path) if os.path.isfile(path) else None
        except (Fault, ValueError):
            return None

    def note_limit(self, source: SourceFile, diagnostic: Diagnostic | None) -> None:
        """Note that a source asks for too much work, or no longer."""
        others = {path: limit for path, limit in self.limits.items() if path != source.path}
        if diagnostic is not None:
            self.limits = {**others, source.path: (source, diagnostic)}
        elif len(others) < len(self.limits):
            self.limits = others

    def inputs_of(self, file: SourceFile) -> Inputs | None:
        """The PyTorch that a file belongs to, with the texts of open files; None if none can be opened.

        It is the same object until one of its texts changes.
        """
        tree = tree_of(file.path, kind_of(file))
        texts = {}
        for text in (*self.texts.values(), file):
            kind = kind_of(text)
            if kind in _OF_PYTORCH and tree_of(text.path, kind) == tree:
                texts[kind.inputs[0]] = text
        try:
            inputs = self._open_release() if tree is None else from_source_path(tree)
        except Fault:
            return None
        opened = self._inputs.get(tree)
        stamps = _stamps(inputs)
        if opened is None or opened.stamps != stamps or opened.texts != texts:
            opened = self._inputs[tree] = _KnownInputs(stamps, texts, with_texts(inputs, texts))
        return opened.inputs

    def related_files(self, file: SourceFile) -> list[SourceFile]:
        """The files that may name the same operators: those of its PyTorch, and the open ones outside of it."""
        inputs = self.inputs_of(file)
        names = [name for kind in _OF_PYTORCH for name in kind.inputs]
        texts = [] if inputs is None else list(map(inputs.read_optional, names))
        texts += [text for text in self.texts.values() if kind_of(text) not in _OF_PYTORCH]
        return list({os.path.abspath(text.path): text for text in (*texts, file) if text is not None}.values())


def tree_of(path: str, kind: Dialect[Any] | None) -> str | None:
    """The folder of the PyTorch whose tree has a file."""
    tree = None if kind is None else tree_around(path, kind)
    return None if tree is None else os.path.abspath(tree)


@lru_cache(maxsize=8)
def kind_of(file: SourceFile) -> Dialect[Any] | None:
    """The dialect of a file; None if none recognises it."""
    return find_kind(file)


def _stamps(inputs: Inputs) -> tuple[tuple[int, int], ...]:
    """The times and sizes of the files of a PyTorch, which other programs than the editor change."""
    stamps = []
    for kind in _OF_PYTORCH:
        with suppress(OSError):
            status = os.stat(inputs.display_path(kind.inputs[0]))
            stamps.append((status.st_mtime_ns, status.st_size))
    return tuple(stamps)
