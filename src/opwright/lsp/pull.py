"""Diagnostics for editors that ask for them."""

from __future__ import annotations

import zlib

from lsprotocol import types as lsp

from opwright.lsp.documents import path_of
from opwright.lsp.server import OperatorServer

__all__ = ["answer"]


async def answer(server: OperatorServer, params: lsp.DocumentDiagnosticParams) -> lsp.DocumentDiagnosticReport:
    """The diagnostics of the present text of a file, or that they are the same as before."""
    path = path_of(params.text_document.uri)
    report = None if path is None else await server.settled_report(path)
    items = [] if report is None else server.diagnostics(report)
    result = str(zlib.crc32(repr(items).encode()))
    if params.previous_result_id == result:
        return lsp.RelatedUnchangedDocumentDiagnosticReport(result)
    return lsp.RelatedFullDocumentDiagnosticReport(items, result_id=result)
