"""The language server, as pygls runs it. What it answers is made in the other modules of this package."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from asyncio.subprocess import PIPE
from collections.abc import Sequence
from typing import Any, Final

from lsprotocol import types as lsp
from pygls.lsp.server import LanguageServer
from pygls.uris import from_fs_path, to_fs_path

from opwright.lsp.completion import completions_at
from opwright.lsp.diagnosis import DiagnosticRow, FileReport, quick_report
from opwright.lsp.fixes import fixes_at
from opwright.lsp.hover import hover_at
from opwright.lsp.navigation import Symbol, definitions_at, derivatives_at, references_at, symbols_in
from opwright.lsp.navigation import symbols_of_project as find_symbols
from opwright.lsp.project import Project, kind_of
from opwright.lsp.rename import argument_at, rename_argument
from opwright.release.inputs import open_inputs
from opwright.source.diagnostic import Edit
from opwright.source.span import SourceText, Span
from opwright.source.text import SourceFile

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


class OperatorServer(LanguageServer):
    """A server with the open operator files of an editor, and the last reports about them."""

    def __init__(self, version: str, torch: str | None, source_path: str | None, plugins: Sequence[str]) -> None:
        super().__init__("opwright", version)
        self.project: Final = Project(lambda: open_inputs(torch, source_path))
        self.reports: Final[dict[str, FileReport]] = {}
        options = (("--torch", torch), ("--source-path", source_path), *[("--plugin", name) for name in plugins])
        flags = [word for flag, value in options if value is not None for word in (flag, value)]
        self._checker: Final = [sys.executable, "-m", "opwright", "lsp", "--check", *flags]
        self._check: asyncio.Task[None] | None = None

    def file(self, uri: str) -> SourceFile | None:
        """The operator file at a URI; None if it is none."""
        path = to_fs_path(uri)
        file = None if path is None else self.project.read(path)
        return None if file is None or kind_of(file) is None else file

    def offset(self, uri: str, position: lsp.Position) -> int:
        """The offset of a position in an open file."""
        return self.workspace.get_text_document(uri).offset_at_position(position)

    def position(self, file: SourceText, offset: int) -> lsp.Position:
        """The position of an offset, in the units of the editor."""
        line, column = file.line_and_column(offset)
        before = file.line_text(line)[: column - 1]
        return lsp.Position(line - 1, self.workspace.position_codec.client_num_units(before))

    def range(self, span: Span) -> lsp.Range:
        """The range of a span."""
        return lsp.Range(self.position(span.file, span.start), self.position(span.file, span.end))

    def locations(self, spans: Sequence[Span]) -> list[lsp.Location]:
        """The locations of spans."""
        return [lsp.Location(_uri(span.file.path), self.range(span)) for span in spans]

    def workspace_edit(self, edits: Sequence[Edit]) -> lsp.WorkspaceEdit:
        """Edits by the URIs of their files."""
        changes: dict[str, list[lsp.TextEdit]] = {}
        for edit in edits:
            text_edit = lsp.TextEdit(self.range(edit.span), edit.text)
            changes.setdefault(_uri(edit.span.file.path), []).append(text_edit)
        return lsp.WorkspaceEdit(changes=changes)

    # Diagnostics.

    def update(self, uri: str) -> None:
        """Take the text of a file from the editor, report what is known at once, and check everything soon."""
        path = to_fs_path(uri)
        if path is None:
            return
        file = self.project.put(path, self.workspace.get_text_document(uri).source)
        last = self.reports.get(path)
        if kind_of(file) is None:
            self._publish(FileReport(file, []))
            return
        report = None if last is None else quick_report(self.project, file, last)
        if report is not None:
            self._publish(report)
        if self._check is not None:
            self._check.cancel()
        self._check = asyncio.ensure_future(self._check_soon())

    def close(self, uri: str) -> None:
        """Forget an open file, and take its diagnostics away."""
        path = to_fs_path(uri)
        if path is not None:
            self.project.close(path)
            self.reports.pop(path, None)
            self.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, []))

    async def _check_soon(self) -> None:
        await asyncio.sleep(_PAUSE)
        files = {path: file for path, file in self.project.texts.items() if kind_of(file) is not None}
        rows = await self._check_all(files)
        if rows is None:
            return
        for path, file in files.items():
            if self.project.texts.get(path) is file:
                self._publish(FileReport(file, [row for row in rows if row["place"] and row["place"]["path"] == path]))

    async def _check_all(self, files: dict[str, SourceFile]) -> list[DiagnosticRow] | None:
        """The diagnostics of all open files, from a process of its own; None if it failed."""
        folder = next((os.path.dirname(path) for path in files), os.getcwd())
        process = await asyncio.create_subprocess_exec(*self._checker, stdin=PIPE, stdout=PIPE, stderr=PIPE)
        request = {"folder": folder, "texts": {path: file.text for path, file in files.items()}}
        try:
            output, complaint = await process.communicate(json.dumps(request).encode())
        finally:
            if process.returncode is None:
                process.kill()
        if process.returncode != 0:
            text = complaint.decode(errors="replace").rstrip()
            self.window_log_message(lsp.LogMessageParams(lsp.MessageType.Error, text))
            return None
        rows: list[DiagnosticRow] = json.loads(output)["diagnostics"]
        return rows

    def _publish(self, report: FileReport) -> None:
        self.reports[report.file.path] = report
        diagnostics = [self._diagnostic(row, report.file) for row in report.rows]
        uri = _uri(report.file.path)
        self.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, diagnostics))

    def _diagnostic(self, row: DiagnosticRow, file: SourceFile) -> lsp.Diagnostic:
        related = [
            lsp.DiagnosticRelatedInformation(
                lsp.Location(_uri(label["place"]["path"]), self._row_range(label["place"])), label["text"]
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
        return lsp.DocumentSymbol(symbol.name, lsp.SymbolKind.Function, whole, name, detail=symbol.schema)


def _uri(path: str) -> str:
    return from_fs_path(os.path.abspath(path)) or path


def serve(version: str, torch: str | None, source_path: str | None, plugins: Sequence[str]) -> None:
    """Serve an editor on standard input and output until it ends the session.

    `plugins` are the plug-ins that the command line names; they are active in this process already.
    """
    server = OperatorServer(version, torch, source_path, plugins)
    _add_document_features(server)
    _add_position_features(server)
    _add_editing_features(server)
    # The server closes its streams, which the program still flushes when it ends.
    with (
        os.fdopen(os.dup(sys.stdin.fileno()), "rb") as requests,
        os.fdopen(os.dup(sys.stdout.fileno()), "wb") as answers,
    ):
        server.start_io(requests, answers)


def _add_document_features(server: OperatorServer) -> None:
    @server.feature(lsp.TEXT_DOCUMENT_DID_OPEN)
    def did_open(params: lsp.DidOpenTextDocumentParams) -> None:
        server.update(params.text_document.uri)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CHANGE)
    def did_change(params: lsp.DidChangeTextDocumentParams) -> None:
        server.update(params.text_document.uri)

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
        file = server.file(params.text_document.uri)
        if file is None:
            return None
        answer = hover_at(server.project, file, server.offset(params.text_document.uri, params.position))
        if answer is None:
            return None
        text = lsp.MarkupContent(lsp.MarkupKind.Markdown, answer.markdown)
        return lsp.Hover(text, server.range(answer.place))

    @server.feature(lsp.TEXT_DOCUMENT_COMPLETION, lsp.CompletionOptions(trigger_characters=[":", ".", "{", ","]))
    def complete(params: lsp.CompletionParams) -> lsp.CompletionList:
        file = server.file(params.text_document.uri)
        offset = server.offset(params.text_document.uri, params.position)
        answers = [] if file is None else completions_at(server.project, file, offset)
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
        file = server.file(params.text_document.uri)
        offset = server.offset(params.text_document.uri, params.position)
        return [] if file is None else server.locations(definitions_at(server.project, file, offset))

    @server.feature(lsp.TEXT_DOCUMENT_IMPLEMENTATION)
    def implementation(params: lsp.ImplementationParams) -> list[lsp.Location]:
        file = server.file(params.text_document.uri)
        offset = server.offset(params.text_document.uri, params.position)
        return [] if file is None else server.locations(derivatives_at(server.project, file, offset))

    @server.feature(lsp.TEXT_DOCUMENT_REFERENCES)
    def references(params: lsp.ReferenceParams) -> list[lsp.Location]:
        file = server.file(params.text_document.uri)
        offset = server.offset(params.text_document.uri, params.position)
        return [] if file is None else server.locations(references_at(server.project, file, offset))


def _add_editing_features(server: OperatorServer) -> None:
    @server.feature(lsp.TEXT_DOCUMENT_PREPARE_RENAME)
    def prepare_rename(params: lsp.PrepareRenameParams) -> lsp.Range | None:
        file = server.file(params.text_document.uri)
        offset = server.offset(params.text_document.uri, params.position)
        place = None if file is None else argument_at(file, offset)
        return None if place is None else server.range(place)

    @server.feature(lsp.TEXT_DOCUMENT_RENAME, lsp.RenameOptions(prepare_provider=True))
    def rename(params: lsp.RenameParams) -> lsp.WorkspaceEdit | None:
        file = server.file(params.text_document.uri)
        offset = server.offset(params.text_document.uri, params.position)
        if file is None:
            return None
        try:
            return server.workspace_edit(rename_argument(server.project, file, offset, params.new_name))
        except ValueError as error:
            server.window_show_message(lsp.ShowMessageParams(lsp.MessageType.Error, str(error)))
            return None

    @server.feature(
        lsp.TEXT_DOCUMENT_CODE_ACTION, lsp.CodeActionOptions(code_action_kinds=[lsp.CodeActionKind.QuickFix])
    )
    def code_actions(params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
        uri = params.text_document.uri
        report = server.reports.get(to_fs_path(uri) or "")
        if report is None:
            return []
        start, end = [server.offset(uri, position) for position in (params.range.start, params.range.end)]
        return [
            lsp.CodeAction(
                fix.title,
                kind=lsp.CodeActionKind.QuickFix,
                edit=server.workspace_edit(fix.edits),
                is_preferred=fix.is_certain,
            )
            for fix in fixes_at(report, start, end)
        ]
