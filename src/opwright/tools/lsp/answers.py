"""The answers to requests about places in open files, in the types of the protocol."""

from __future__ import annotations

import zlib
from typing import Final

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException

from opwright.syntax.cpp_source import CPP_SUFFIXES
from opwright.tools.lsp.completion import completions_at
from opwright.tools.lsp.documents import path_of
from opwright.tools.lsp.hover import hover_at
from opwright.tools.lsp.navigation import Symbol, definitions_at, derivatives_at, references_at, symbols_in
from opwright.tools.lsp.navigation import symbols_of_project as find_symbols
from opwright.tools.lsp.rename import argument_at, rename_argument
from opwright.tools.lsp.rename_operator import operator_at, rename_operator
from opwright.tools.lsp.server import OperatorServer

_KINDS: Final = {
    "field": lsp.CompletionItemKind.Field,
    "value": lsp.CompletionItemKind.EnumMember,
    "operator": lsp.CompletionItemKind.Function,
    "type": lsp.CompletionItemKind.TypeParameter,
}


def document_symbols(server: OperatorServer, params: lsp.DocumentSymbolParams) -> list[lsp.DocumentSymbol]:
    """The operators of a file."""
    file = server.file(params.text_document.uri)
    return [] if file is None else [_symbol(server, symbol) for symbol in symbols_in(file)]


def _symbol(server: OperatorServer, symbol: Symbol) -> lsp.DocumentSymbol:
    whole, name = server.range(symbol.entry), server.range(symbol.place)
    kernels = []
    for kernel in symbol.kernels:
        place = server.range(kernel.place)
        detail = f"{kernel.keys}{f', when {kernel.when}' if kernel.when else ''}"
        kernels.append(lsp.DocumentSymbol(kernel.name, lsp.SymbolKind.Method, place, place, detail=detail))
    return lsp.DocumentSymbol(symbol.name, lsp.SymbolKind.Function, whole, name, symbol.schema, children=kernels)


async def diagnostics(server: OperatorServer, params: lsp.DocumentDiagnosticParams) -> lsp.DocumentDiagnosticReport:
    """The diagnostics of the present text of a file, or that they are the same as before."""
    path = path_of(params.text_document.uri)
    report = None if path is None else await server.settled_report(path)
    items = [] if report is None else server.diagnostics(report)
    result = str(zlib.crc32(repr(items).encode()))
    if params.previous_result_id == result:
        return lsp.RelatedUnchangedDocumentDiagnosticReport(result)
    return lsp.RelatedFullDocumentDiagnosticReport(items, result_id=result)


def workspace_symbols(server: OperatorServer, params: lsp.WorkspaceSymbolParams) -> list[lsp.WorkspaceSymbol]:
    """The operators of all open files and of their PyTorch whose names contain the query."""
    return [
        lsp.WorkspaceSymbol(location, symbol.name, lsp.SymbolKind.Function)
        for symbol in find_symbols(server.project, params.query)
        for location in server.locations([symbol.place])
    ]


def hover(server: OperatorServer, params: lsp.HoverParams) -> lsp.Hover | None:
    """What is known of the word at a position."""
    place = server.place(params.text_document.uri, params.position)
    answer = None if place is None else hover_at(server.project, *place)
    if answer is None:
        return None
    return lsp.Hover(lsp.MarkupContent(lsp.MarkupKind.Markdown, answer.markdown), server.range(answer.place))


def complete(server: OperatorServer, params: lsp.CompletionParams) -> lsp.CompletionList:
    """What may stand at a position."""
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


def definition(server: OperatorServer, params: lsp.DefinitionParams) -> list[lsp.Location]:
    """Where the name at a position is defined."""
    place = server.place(params.text_document.uri, params.position, CPP_SUFFIXES)
    return [] if place is None else server.locations(definitions_at(server.project, *place))


def implementation(server: OperatorServer, params: lsp.ImplementationParams) -> list[lsp.Location]:
    """The derivatives of the operator at a position."""
    place = server.place(params.text_document.uri, params.position)
    return [] if place is None else server.locations(derivatives_at(server.project, *place))


def references(server: OperatorServer, params: lsp.ReferenceParams) -> list[lsp.Location]:
    """What names the operator at a position."""
    place = server.place(params.text_document.uri, params.position)
    return [] if place is None else server.locations(references_at(server.project, *place))


def prepare_rename(server: OperatorServer, params: lsp.PrepareRenameParams) -> lsp.Range | None:
    """The name that a rename at a position would change."""
    place = server.place(params.text_document.uri, params.position)
    name = None if place is None else argument_at(*place) or operator_at(server.project, *place)
    return None if name is None else server.range(name)


def rename(server: OperatorServer, params: lsp.RenameParams) -> lsp.WorkspaceEdit | None:
    """The edits of a rename. Raises JsonRpcException with the reason if it is refused."""
    place = server.place(params.text_document.uri, params.position)
    if place is None:
        return None
    try:
        rename_it = rename_operator if argument_at(*place) is None else rename_argument
        return server.workspace_edit(rename_it(server.project, *place, params.new_name))
    except ValueError as error:
        # The editor shows this to the user.
        raise JsonRpcException(str(error), lsp.LSPErrorCodes.RequestFailed) from None
