"""The state of the language server: the texts that an editor has open, the last reports about them, and positions.

Nothing here is needed for one kind of request alone: what the server answers is in the modules of `features.py`.
"""

from __future__ import annotations

import asyncio
import gc
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import aclosing
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final, TypeVar

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer
from pygls.uris import from_fs_path

from opwright.release.inputs import open_inputs
from opwright.source.diagnostic import Diagnostic, Diagnostics, Edit, Fault
from opwright.source.records import NamedTuple
from opwright.source.span import SourceText, Span
from opwright.source.text import SourceFile
from opwright.tools.lsp.checker import Checker, CheckFailed, InputOptions
from opwright.tools.lsp.documents import changed_text, offset_at, path_of, position_at
from opwright.tools.lsp.project import DiagnosticRow, FileReport, Project, activate_plugins, kind_of
from opwright.tools.lsp.protocol import AnsweringProtocol

if TYPE_CHECKING:
    from pygls.server import ServerErrors

_Answer = TypeVar("_Answer")

#: How long the texts must stay as they are before everything is checked, in seconds.
_PAUSE: Final = 0.25
#: The same after a file was opened. An editor that restores a session opens several at once.
_PAUSE_AFTER_OPENING: Final = 0.02

_SEVERITIES: Final = {
    "error": lsp.DiagnosticSeverity.Error,
    "warning": lsp.DiagnosticSeverity.Warning,
    "note": lsp.DiagnosticSeverity.Information,
}


class OpenDocument(NamedTuple):
    """What the editor calls a text that it has open, and the version of the text that it sent last."""

    uri: str
    version: int


class OperatorServer(LanguageServer):
    """A server with the open operator files of an editor, and the last reports about them."""

    protocol: AnsweringProtocol

    def __init__(self, version: str, options: InputOptions, plugins: Sequence[str], checker: Checker) -> None:
        super().__init__("opwright", version, protocol_cls=AnsweringProtocol)
        self.project: Final = Project(lambda: open_inputs(options.torch, options.source_path), options.allowed_paths)
        self.documents: Final[dict[str, OpenDocument]] = {}
        self.reports: Final[dict[str, FileReport]] = {}
        self.plugins = plugins
        self.checker: Final = checker
        self._limits: Mapping[str, tuple[SourceFile, Diagnostic]] = {}
        self._check: asyncio.Task[None] | None = None
        self._folder: TemporaryDirectory[str] | None = None

    def report_server_error(self, error: Exception, source: ServerErrors) -> None:
        """Answer a message that is no JSON; show other errors in the editor."""
        if source is JsonRpcException and isinstance(error, ValueError | RecursionError):
            self.protocol.refuse(None, lsp.ResponseError(lsp.ErrorCodes.ParseError, f"no JSON: {error}"))
        else:
            super().report_server_error(error, source)

    def file(self, uri: str) -> SourceFile | None:
        """The operator file at a URI; None if it is none."""
        path = path_of(uri)
        file = None if path is None else self.project.read(path)
        return None if file is None or kind_of(file) is None else file

    def place(self, uri: str, position: lsp.Position, endings: tuple[str, ...] = ()) -> tuple[SourceFile, int] | None:
        """The operator file at a URI, or one with these endings, and the offset of a position; None for other files."""
        path = path_of(uri)
        is_other = path is not None and bool(endings) and path.endswith(endings)
        file = self.project.read(path) if path is not None and is_other else self.file(uri)
        return None if file is None else (file, offset_at(file, position, self.workspace.position_codec))

    def uri(self, path: str) -> str:
        """The URI of a file: of an open one, as the editor writes it."""
        document = self.documents.get(path)
        return (from_fs_path(os.path.abspath(path)) or path) if document is None else document.uri

    def position(self, file: SourceText, offset: int) -> lsp.Position:
        """The position of an offset, in the units of the editor."""
        return position_at(file, offset, self.workspace.position_codec)

    def range(self, span: Span) -> lsp.Range:
        """The range of a span."""
        return lsp.Range(self.position(span.file, span.start), self.position(span.file, span.end))

    def locations(self, spans: Sequence[Span]) -> list[lsp.Location]:
        """The locations of spans."""
        return [lsp.Location(self.uri(span.file.path), self.range(span)) for span in spans]

    def workspace_edit(self, edits: Sequence[Edit]) -> lsp.WorkspaceEdit:
        """Edits by the files, with the versions of the texts that they are for, if the editor can compare them."""
        changes: dict[str, list[lsp.TextEdit]] = {}
        for edit in edits:
            text_edit = lsp.TextEdit(self.range(edit.span), edit.text)
            changes.setdefault(edit.span.file.path, []).append(text_edit)
        workspace = self.client_capabilities.workspace
        if workspace is None or workspace.workspace_edit is None or not workspace.workspace_edit.document_changes:
            return lsp.WorkspaceEdit(changes={self.uri(path): file_edits for path, file_edits in changes.items()})
        document_edits = []
        for path, file_edits in changes.items():
            document = self.documents.get(path)
            version = document and document.version
            identifier = lsp.OptionalVersionedTextDocumentIdentifier(self.uri(path), version)
            document_edits.append(lsp.TextDocumentEdit(identifier, file_edits))
        return lsp.WorkspaceEdit(document_changes=document_edits)

    def write_document(self, name: str, text: str) -> str:
        """Write a text that an editor is to show; the path of the file, which goes when the server ends."""
        if self._folder is None:
            self._folder = TemporaryDirectory(prefix="opwright-")
        path = os.path.join(self._folder.name, name)
        with open(path, "w", encoding="utf-8") as stream:
            stream.write(text)
        return path

    async def in_thread(self, answer: Callable[..., _Answer], *params: object, is_edit: bool = False) -> _Answer:
        """What a function answers in a thread, so that other requests have answers meanwhile.

        It sees the texts as they are now. Edits of texts that have changed since are refused. If the editor cancels the
        request, the thread ends before it reads another file; the work for each file is limited.
        """
        request = self.project.begin_request()
        try:
            result = await asyncio.to_thread(answer, self, *params)
            self._publish_limits()
        finally:
            request.is_over = True
        if is_edit and self.project.is_outdated(request):
            raise JsonRpcException("the texts have changed meanwhile", lsp.LSPErrorCodes.ContentModified)
        return result

    def _publish_limits(self) -> None:
        """Send the diagnostics of C++ sources that ask for too much work, which no check reads."""
        limits, before = self.project.limits, self._limits
        self._limits = limits
        if limits is before:
            return
        from opwright.tools.lsp.diagnosis import diagnostic_rows

        for path, (source, diagnostic) in {**before, **limits}.items():
            report = FileReport(source, diagnostic_rows((diagnostic,)) if path in limits else [])
            diagnostics = self.diagnostics(report)
            self.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(self.uri(path), diagnostics))

    def clean_up(self) -> None:
        """Remove what was written for the editor, and stop the process that waits."""
        self.checker.end()
        if self._folder is not None:
            self._folder.cleanup()

    # The texts of the editor, and diagnostics.

    def open(self, document: lsp.TextDocumentItem) -> None:
        """Take a text that the editor opens."""
        path = path_of(document.uri)
        if path is not None:
            self.documents[path] = OpenDocument(document.uri, document.version)
            self._update(path, document.text)

    def change(self, params: lsp.DidChangeTextDocumentParams) -> None:
        """Take changes of an open text."""
        path = path_of(params.text_document.uri)
        file = None if path is None else self.project.texts.get(path)
        if path is None or file is None:
            return
        self.documents[path] = OpenDocument(self.documents[path].uri, params.text_document.version)
        self._update(path, changed_text(file, params.content_changes, self.workspace.position_codec))

    def close(self, uri: str) -> None:
        """Forget an open text, and take its diagnostics away. Those of the others are for the file on disk now."""
        path = path_of(uri)
        if path is not None and self.documents.pop(path, None) is not None:
            self.project.close(path)
            self.reports.pop(path, None)
            self.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, []))
            self._check_later()

    def _update(self, path: str, text: str) -> None:
        """Report what is known of a text at once, and check everything soon."""
        file = self.project.put(path, text)
        last = self.reports.get(path)
        if kind_of(file) is None:
            self._publish(FileReport(file, []))
            return
        if last is not None:
            from opwright.tools.lsp.diagnosis import quick_report

            report = quick_report(self.project, file, last)
            if report is not None:
                self._publish(report)
        self._check_later(path, _PAUSE if last is not None else _PAUSE_AFTER_OPENING)

    def _check_later(self, path: str = "", pause: float = _PAUSE) -> None:
        """Check everything after a pause, the file at a path first."""
        if self._check is not None:
            self._check.cancel()
        self.checker.prepare()
        self._check = asyncio.ensure_future(self._check_soon(path, pause))

    async def _check_soon(self, first: str, pause: float) -> None:
        await asyncio.sleep(pause)
        files = {path: file for path, file in self.project.texts.items() if kind_of(file) is not None}
        request = self._request({path: file for path, file in files.items() if path == first} | files)
        if not await self._take_reports(request, files):
            # A plug-in can end the process. What the files have without plug-ins is worth knowing all the same.
            self._say("the check ended without a report; plug-ins are left out")
            await self._take_reports({**request, "plugins": []}, files)
        self.checker.prepare()
        # Nobody waits now. The catalogs of earlier edits are cycles with the texts of their files.
        gc.collect()

    def _request(self, files: dict[str, SourceFile]) -> dict[str, object]:
        """What a process is asked about files."""
        folder = next((os.path.dirname(path) for path in files), os.getcwd())
        texts = {path: file.text for path, file in files.items()}
        return {"folder": folder, "texts": texts, "plugins": self.plugins}

    async def _take_reports(self, request: dict[str, object], files: dict[str, SourceFile]) -> bool:
        """Publish what a process reports, as it comes; False if the process failed."""
        try:
            async with aclosing(self.checker.reports(request)) as reports:
                async for report in reports:
                    self._take_report(report, files)
        except CheckFailed as failure:
            self._say(str(failure))
            return False
        return True

    def _take_report(self, report: Mapping[str, Any], files: dict[str, SourceFile]) -> None:
        """Publish the diagnostics of the files that have not changed meanwhile."""
        for path in report["paths"]:
            rows = [row for row in report["diagnostics"] if not row["place"] or row["place"]["path"] == path]
            if self.project.texts.get(path) is files[path]:
                self._publish(FileReport(files[path], rows), is_whole=True)

    async def settled_report(self, path: str) -> FileReport | None:
        """The report about the present text of an open file, which a check may have to make first; None if none can."""
        while (file := self.project.texts.get(path)) is not None:
            report = self.reports.get(path)
            if self._check is None or self._check.done() or (report is not None and report.file is file):
                return report
            await asyncio.wait([self._check])
        return None

    async def fixed_text(self, file: SourceFile, codes: Sequence[str] | None = None) -> str | None:
        """The text of an open file with the fixes of some codes, of those of the settings by default; None if equal."""
        request = self._request({file.path: file, **self.project.texts})
        try:
            async with aclosing(self.checker.reports({**request, "fixed": file.path, "select": codes})) as answers:
                async for answer in answers:
                    text: str | None = answer["text"]
                    return text
        except CheckFailed as failure:
            self._say(str(failure))
        return None

    def _say(self, text: str) -> None:
        """Write to the log that the editor keeps of its servers."""
        if text:
            self.window_log_message(lsp.LogMessageParams(lsp.MessageType.Error, text))

    def activate_plugins(self) -> None:
        """Activate the plug-ins that the command line names; the log gets the faults of those that do not load."""
        sink = Diagnostics()
        activate_plugins(self.plugins, (), sink)
        for diagnostic in sink:
            self._say(str(Fault(diagnostic)))

    @property
    def _pulls(self) -> bool:
        """Whether the editor asks for diagnostics. Then it would show those that are sent to it a second time."""
        document = self.client_capabilities.text_document
        return document is not None and document.diagnostic is not None

    def _publish(self, report: FileReport, *, is_whole: bool = False) -> None:
        """Keep a report, and send it to the editor, or let the editor ask for it."""
        path = report.file.path
        last = self.reports.get(path)
        self.reports[path] = report
        if not self._pulls:
            document = self.documents[path]
            diagnostics = self.diagnostics(report)
            self.text_document_publish_diagnostics(
                lsp.PublishDiagnosticsParams(document.uri, diagnostics, document.version)
            )
        elif is_whole and last is not None and last.rows != report.rows and self._can_refresh:
            self.workspace_diagnostic_refresh(None)

    @property
    def _can_refresh(self) -> bool:
        workspace = self.client_capabilities.workspace
        diagnostics_support = None if workspace is None else workspace.diagnostics
        return diagnostics_support is not None and bool(diagnostics_support.refresh_support)

    def diagnostics(self, report: FileReport) -> list[lsp.Diagnostic]:
        """The diagnostics of a report."""
        return [self._diagnostic(row, report.file) for row in report.rows]

    def _diagnostic(self, row: DiagnosticRow, file: SourceFile) -> lsp.Diagnostic:
        related = [
            lsp.DiagnosticRelatedInformation(
                lsp.Location(self.uri(label["place"]["path"]), self._row_range(label["place"])), label["text"]
            )
            for label in row["labels"]
            if label["text"] and not label["primary"]
        ]
        label_texts = [label["text"] for label in row["labels"] if label["text"] and label["primary"]]
        lines = [row["message"], *label_texts, *row["notes"], *([f"help: {row['help']}"] if row["help"] else [])]
        return lsp.Diagnostic(
            self._row_range(row["place"]) if row["place"] else self.range(file.span(0)),
            "\n".join(lines),
            severity=_SEVERITIES[row["severity"]],
            code=row["code"],
            code_description=_code_description(row["code"]),
            source="opwright",
            related_information=related,
        )

    def _row_range(self, place: dict[str, Any]) -> lsp.Range:
        file = self.project.read(place["path"])
        if file is not None:
            return self.range(file.span(place["start"]["offset"], place["end"]["offset"]))
        start, end = [lsp.Position(place[name]["line"] - 1, place[name]["column"] - 1) for name in ("start", "end")]
        return lsp.Range(start, end)


def _code_description(code: str) -> lsp.CodeDescription | None:
    """The page that explains a code; None for a code of a plug-in."""
    from opwright.tools.check.formats import page_address

    address = page_address(code)
    return None if address is None else lsp.CodeDescription(address)
