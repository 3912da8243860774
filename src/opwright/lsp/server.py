"""The language server, as pygls runs it. What it answers is made in the other modules of this package."""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import os
import sys
from asyncio.subprocess import PIPE
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer
from pygls.uris import from_fs_path

from opwright.lsp.completion import completions_at
from opwright.lsp.diagnosis import DiagnosticRow, FileReport, fixes_at, quick_report
from opwright.lsp.documents import changed_text, offset_at, path_of, position_at
from opwright.lsp.hover import hover_at
from opwright.lsp.navigation import Symbol, definitions_at, derivatives_at, references_at, symbols_in
from opwright.lsp.navigation import symbols_of_project as find_symbols
from opwright.lsp.project import PluginRequest, Project, activate_plugins, kind_of
from opwright.lsp.protocol import AnsweringProtocol
from opwright.lsp.rename import argument_at, rename_argument
from opwright.release.inputs import open_inputs
from opwright.source.diagnostic import Diagnostics, Edit, Fault
from opwright.source.named_tuple import NamedTuple
from opwright.source.span import SourceText, Span
from opwright.source.text import SourceFile

if TYPE_CHECKING:
    from pygls.server import ServerErrors

__all__ = ["serve"]

#: How long the texts must stay as they are before everything is checked, in seconds.
_PAUSE: Final = 0.25

_KINDS: Final = {
    "field": lsp.CompletionItemKind.Field,
    "value": lsp.CompletionItemKind.EnumMember,
    "operator": lsp.CompletionItemKind.Function,
    "type": lsp.CompletionItemKind.TypeParameter,
}
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

    def __init__(
        self,
        version: str,
        torch: str | None,
        source_path: str | None,
        plugins: PluginRequest,
        allowed_paths: tuple[str, ...],
    ) -> None:
        super().__init__("opwright", version, protocol_cls=AnsweringProtocol)
        self.project: Final = Project(lambda: open_inputs(torch, source_path), allowed_paths)
        self.documents: Final[dict[str, OpenDocument]] = {}
        self.reports: Final[dict[str, FileReport]] = {}
        self.plugins = plugins
        options = [
            ("--torch", torch),
            ("--source-path", source_path),
            *[("--allow-path", path) for path in allowed_paths],
        ]
        flags = [word for flag, value in options if value is not None for word in (flag, value)]
        # With `-m`, Python would look for modules in the working folder, which is the one that the editor opened.
        program = f"import sys; sys.path[:] = {sys.path!r}; from opwright.cli.main import program; program()"
        self._checker: Final = [sys.executable, "-c", program, "lsp", "--check", *flags]
        self._check: asyncio.Task[None] | None = None

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

    def place(self, uri: str, position: lsp.Position) -> tuple[SourceFile, int] | None:
        """The operator file at a URI and the offset of a position in it; None if it is none."""
        file = self.file(uri)
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
            return lsp.WorkspaceEdit(changes={self.uri(path): own for path, own in changes.items()})
        return lsp.WorkspaceEdit(
            document_changes=[lsp.TextDocumentEdit(self._identifier(path), own) for path, own in changes.items()]
        )

    def _identifier(self, path: str) -> lsp.OptionalVersionedTextDocumentIdentifier:
        document = self.documents.get(path)
        return lsp.OptionalVersionedTextDocumentIdentifier(self.uri(path), document and document.version)

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
        report = None if last is None else quick_report(self.project, file, last)
        if report is not None:
            self._publish(report)
        self._check_later()

    def _check_later(self) -> None:
        if self._check is not None:
            self._check.cancel()
        self._check = asyncio.ensure_future(self._check_soon())

    async def _check_soon(self) -> None:
        await asyncio.sleep(_PAUSE)
        files = {path: file for path, file in self.project.texts.items() if kind_of(file) is not None}
        rows = await self._check_all(files)
        # Nobody waits now. The catalogs of earlier edits are cycles with the texts of their files.
        gc.collect()
        if rows is None:
            return
        for path, file in files.items():
            if self.project.texts.get(path) is file:
                own = [row for row in rows if not row["place"] or row["place"]["path"] == path]
                self._publish(FileReport(file, own))

    async def _check_all(self, files: dict[str, SourceFile]) -> list[DiagnosticRow] | None:
        """The diagnostics of all open files, from a process of its own; None if it failed."""
        folder = next((os.path.dirname(path) for path in files), os.getcwd())
        request = {"folder": folder, "texts": {path: file.text for path, file in files.items()}}
        rows = await self._rows_of({**request, "plugins": self.plugins})
        if rows is None:
            # A plug-in can end the process. What the files have without plug-ins is worth knowing all the same.
            self._say("the check ended without a report; plug-ins are left out")
            rows = await self._rows_of({**request, "plugins": self.plugins._replace(no_plugins=True)})
        return rows

    async def _rows_of(self, request: dict[str, object]) -> list[DiagnosticRow] | None:
        """What a process of its own reports of a request; None if it failed."""
        process = await asyncio.create_subprocess_exec(*self._checker, stdin=PIPE, stdout=PIPE, stderr=PIPE)
        try:
            output, complaint = await process.communicate(json.dumps(request).encode())
        finally:
            if process.returncode is None:
                process.kill()
        if process.returncode != 0 or not output:
            self._say(complaint.decode(errors="replace").rstrip())
            return None
        rows: list[DiagnosticRow] = json.loads(output)["diagnostics"]
        return rows

    def _say(self, text: str) -> None:
        """Write to the log that the editor keeps of its servers."""
        if text:
            self.window_log_message(lsp.LogMessageParams(lsp.MessageType.Error, text))

    def use_plugins(self, params: lsp.InitializeParams) -> None:
        """Activate the plug-ins that the editor allows; the log gets the faults of those that do not load."""
        roots = [folder.uri for folder in params.workspace_folders or ()] or [params.root_uri or ""]
        folders = [path for path in map(path_of, filter(None, roots)) if path is not None]
        self.plugins = self.plugins.in_workspace(_is_trusted(params.initialization_options), folders)
        sink = Diagnostics()
        activate_plugins(self.plugins, (), sink)
        for diagnostic in sink:
            self._say(str(Fault(diagnostic)))

    def _publish(self, report: FileReport) -> None:
        self.reports[report.file.path] = report
        diagnostics = [self._diagnostic(row, report.file) for row in report.rows]
        document = self.documents[report.file.path]
        self.text_document_publish_diagnostics(
            lsp.PublishDiagnosticsParams(document.uri, diagnostics, document.version)
        )

    def _diagnostic(self, row: DiagnosticRow, file: SourceFile) -> lsp.Diagnostic:
        related = [
            lsp.DiagnosticRelatedInformation(
                lsp.Location(self.uri(label["place"]["path"]), self._row_range(label["place"])), label["text"]
            )
            for label in row["labels"]
            if label["text"] and not label["primary"]
        ]
        own = [label["text"] for label in row["labels"] if label["text"] and label["primary"]]
        lines = [row["message"], *own, *row["notes"], *([f"help: {row['help']}"] if row["help"] else [])]
        return lsp.Diagnostic(
            self._row_range(row["place"]) if row["place"] else self.range(file.span(0)),
            "\n".join(lines),
            severity=_SEVERITIES[row["severity"]],
            code=row["code"],
            source="opwright",
            related_information=related,
        )

    def _row_range(self, place: dict[str, Any]) -> lsp.Range:
        file = self.project.read(place["path"])
        if file is not None:
            return self.range(file.span(place["start"]["offset"], place["end"]["offset"]))
        start, end = [lsp.Position(place[name]["line"] - 1, place[name]["column"] - 1) for name in ("start", "end")]
        return lsp.Range(start, end)

    def symbol(self, symbol: Symbol) -> lsp.DocumentSymbol:
        """A symbol of an open file."""
        whole, name = self.range(symbol.entry), self.range(symbol.place)
        kernels = []
        for kernel in symbol.kernels:
            place = self.range(kernel.place)
            detail = f"{kernel.keys}{f', when {kernel.when}' if kernel.when else ''}"
            kernels.append(lsp.DocumentSymbol(kernel.name, lsp.SymbolKind.Method, place, place, detail=detail))
        return lsp.DocumentSymbol(symbol.name, lsp.SymbolKind.Function, whole, name, symbol.schema, children=kernels)


def _is_trusted(options: object) -> bool | None:
    """What the editor says of its workspace: `trusted` of its options; None if it says nothing."""
    value = options.get("trusted") if isinstance(options, dict) else getattr(options, "trusted", None)
    return value if isinstance(value, bool) else None


def serve(
    version: str,
    torch: str | None,
    source_path: str | None,
    plugins: PluginRequest,
    allowed_paths: tuple[str, ...] = (),
) -> None:
    """Serve an editor on standard input and output until it ends the session.

    Heads may name `allowed_paths` outside of their projects. What plug-ins print goes to standard error.
    """
    _log_bugs()
    # Commands run without garbage collection, but catalogs are cycles, and a session makes one for each edit.
    gc.enable()
    server = OperatorServer(version, torch, source_path, plugins, allowed_paths)
    _add_document_features(server)
    _add_position_features(server)
    _add_editing_features(server)
    # The server closes its streams, which the program still flushes when it ends.
    with (
        os.fdopen(os.dup(sys.stdin.fileno()), "rb") as requests,
        os.fdopen(os.dup(sys.stdout.fileno()), "wb") as answers,
    ):
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
        server.start_io(requests, answers)


def _log_bugs() -> None:
    """Log what pygls logs, but for errors that an answer tells the editor."""

    def is_answered(record: logging.LogRecord) -> bool:
        error = record.exc_info[1] if record.exc_info else None
        return isinstance(error, JsonRpcException | ValueError | RecursionError)

    handler = logging.StreamHandler()
    handler.addFilter(lambda record: not is_answered(record))
    logger = logging.getLogger("pygls")
    logger.addHandler(handler)
    logger.propagate = False


def _add_document_features(server: OperatorServer) -> None:
    @server.feature(lsp.INITIALIZE)
    def initialize(params: lsp.InitializeParams) -> None:
        server.use_plugins(params)

    @server.feature(lsp.TEXT_DOCUMENT_DID_OPEN)
    def did_open(params: lsp.DidOpenTextDocumentParams) -> None:
        server.open(params.text_document)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CHANGE)
    def did_change(params: lsp.DidChangeTextDocumentParams) -> None:
        server.change(params)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CLOSE)
    def did_close(params: lsp.DidCloseTextDocumentParams) -> None:
        server.close(params.text_document.uri)

    @server.feature(lsp.TEXT_DOCUMENT_DOCUMENT_SYMBOL)
    def document_symbols(params: lsp.DocumentSymbolParams) -> list[lsp.DocumentSymbol]:
        file = server.file(params.text_document.uri)
        return [] if file is None else [server.symbol(symbol) for symbol in symbols_in(file)]

    @server.feature(lsp.WORKSPACE_SYMBOL)
    def workspace_symbols(params: lsp.WorkspaceSymbolParams) -> list[lsp.WorkspaceSymbol]:
        return [
            lsp.WorkspaceSymbol(location, symbol.name, lsp.SymbolKind.Function)
            for symbol in find_symbols(server.project, params.query)
            for location in server.locations([symbol.place])
        ]


def _add_position_features(server: OperatorServer) -> None:
    @server.feature(lsp.TEXT_DOCUMENT_HOVER)
    def hover(params: lsp.HoverParams) -> lsp.Hover | None:
        place = server.place(params.text_document.uri, params.position)
        answer = None if place is None else hover_at(server.project, *place)
        if answer is None:
            return None
        text = lsp.MarkupContent(lsp.MarkupKind.Markdown, answer.markdown)
        return lsp.Hover(text, server.range(answer.place))

    @server.feature(lsp.TEXT_DOCUMENT_COMPLETION, lsp.CompletionOptions(trigger_characters=[":", ".", "{", ","]))
    def complete(params: lsp.CompletionParams) -> lsp.CompletionList:
        place = server.place(params.text_document.uri, params.position)
        answers = [] if place is None else completions_at(server.project, *place)
        items = [
            lsp.CompletionItem(
                answer.text,
                kind=_KINDS[answer.kind],
                detail=answer.detail,
                documentation=answer.help,
                text_edit=lsp.TextEdit(server.range(answer.place), answer.text),
            )
            for answer in answers
        ]
        return lsp.CompletionList(is_incomplete=False, items=items)

    @server.feature(lsp.TEXT_DOCUMENT_DEFINITION)
    def definition(params: lsp.DefinitionParams) -> list[lsp.Location]:
        place = server.place(params.text_document.uri, params.position)
        return [] if place is None else server.locations(definitions_at(server.project, *place))

    @server.feature(lsp.TEXT_DOCUMENT_IMPLEMENTATION)
    def implementation(params: lsp.ImplementationParams) -> list[lsp.Location]:
        place = server.place(params.text_document.uri, params.position)
        return [] if place is None else server.locations(derivatives_at(server.project, *place))

    @server.feature(lsp.TEXT_DOCUMENT_REFERENCES)
    def references(params: lsp.ReferenceParams) -> list[lsp.Location]:
        place = server.place(params.text_document.uri, params.position)
        return [] if place is None else server.locations(references_at(server.project, *place))


def _add_editing_features(server: OperatorServer) -> None:
    @server.feature(lsp.TEXT_DOCUMENT_PREPARE_RENAME)
    def prepare_rename(params: lsp.PrepareRenameParams) -> lsp.Range | None:
        place = server.place(params.text_document.uri, params.position)
        name = None if place is None else argument_at(*place)
        return None if name is None else server.range(name)

    @server.feature(lsp.TEXT_DOCUMENT_RENAME, lsp.RenameOptions(prepare_provider=True))
    def rename(params: lsp.RenameParams) -> lsp.WorkspaceEdit | None:
        place = server.place(params.text_document.uri, params.position)
        if place is None:
            return None
        try:
            return server.workspace_edit(rename_argument(server.project, *place, params.new_name))
        except ValueError as error:
            # The editor shows this to the user.
            raise JsonRpcException(str(error), lsp.LSPErrorCodes.RequestFailed) from None

    @server.feature(
        lsp.TEXT_DOCUMENT_CODE_ACTION, lsp.CodeActionOptions(code_action_kinds=[lsp.CodeActionKind.QuickFix])
    )
    def code_actions(params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
        uri = params.text_document.uri
        report = server.reports.get(path_of(uri) or "")
        places = [server.place(uri, position) for position in (params.range.start, params.range.end)]
        if report is None or None in places:
            return []
        start, end = [place[1] for place in places if place is not None]
        return [
            lsp.CodeAction(
                fix.title,
                kind=lsp.CodeActionKind.QuickFix,
                edit=server.workspace_edit(fix.edits),
                is_preferred=fix.is_certain,
            )
            for fix in fixes_at(report, start, end)
        ]
