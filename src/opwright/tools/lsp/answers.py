"""The answers to requests about places in open files, in the types of the protocol."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from typing import Final

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException

from opwright.source.span import SourceText, Span
from opwright.source.text import SourceFile
from opwright.syntax.cpp_source import CPP_SUFFIXES
from opwright.tools.lsp.argument_places import argument_at
from opwright.tools.lsp.completion import completions_at
from opwright.tools.lsp.documents import path_of
from opwright.tools.lsp.hover import hover_at
from opwright.tools.lsp.navigation import (
    Symbol,
    definitions_at,
    derivatives_at,
    highlights_at,
    references_at,
    symbols_in,
)
from opwright.tools.lsp.navigation import symbols_of_project as find_symbols
from opwright.tools.lsp.project import Project
from opwright.tools.lsp.rename import operator_at, rename_argument, rename_operator
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


def _locations(
    find: Callable[[Project, SourceFile, int], list[Span]], endings: tuple[str, ...] = ()
) -> Callable[[OperatorServer, lsp.TextDocumentPositionParams], list[lsp.Location]]:
    """What answers with the places that a function finds for a position."""

    def answer(server: OperatorServer, params: lsp.TextDocumentPositionParams) -> list[lsp.Location]:
        place = server.place(params.text_document.uri, params.position, endings)
        return [] if place is None else server.locations(find(server.project, *place))

    return answer


#: Where the name at a position is defined, the derivatives of the operator there, and what names it.
definition: Final = _locations(definitions_at, CPP_SUFFIXES)
implementation: Final = _locations(derivatives_at)
references: Final = _locations(references_at)


def highlights(server: OperatorServer, params: lsp.DocumentHighlightParams) -> list[lsp.DocumentHighlight]:
    """The places in a file that name what is at a position."""
    place = server.place(params.text_document.uri, params.position)
    return [lsp.DocumentHighlight(server.range(span)) for span in (() if place is None else highlights_at(*place))]


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


def folding(server: OperatorServer, params: lsp.FoldingRangeParams) -> list[lsp.FoldingRange]:
    """The parts of a file that can be folded."""
    file = server.file(params.text_document.uri)
    kinds = {True: lsp.FoldingRangeKind.Comment, False: lsp.FoldingRangeKind.Region}
    return [
        lsp.FoldingRange(first, last, kind=kinds[is_comment])
        for first, last, is_comment in (() if file is None else folds(file))
    ]


def folds(file: SourceText) -> Iterator[tuple[int, int, bool]]:
    """The first and the last line of each part, counted from 0, and whether it is a comment.

    A part is a line with all lines below it that are indented further.

    >>> text = "# a\\n# b\\n- func: f()\\n  dispatch:\\n    CPU: f\\n\\n- func: g()\\n"
    >>> sorted(folds(SourceText("x.yaml", text)))
    [(0, 1, True), (2, 4, False), (3, 4, False)]
    """
    open_parts: list[tuple[int, int]] = []
    comment: int | None = None
    last = -1
    for number, line in enumerate([*file.text.split("\n"), "end"]):
        text = line.lstrip(" ")
        is_comment = text.startswith("#")
        if not is_comment and comment is not None:
            if last > comment:
                yield comment, last, True
            comment = None
        if not text.strip():
            continue
        if is_comment:
            comment = number if comment is None else comment
        else:
            indent = len(line) - len(text)
            while open_parts and open_parts[-1][0] >= indent:
                start = open_parts.pop()[1]
                if last > start:
                    yield start, last, False
            open_parts.append((indent, number))
        last = number
