"""What the server can do: the requests of the protocol, and the function that answers each.

A server starts while its user waits, so the modules of the functions are imported after it has said what it can do.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any, Final

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException

from opwright.source.records import NamedTuple
from opwright.tools.lsp.checker import Checker, InputOptions
from opwright.tools.lsp.protocol import EXPLAIN
from opwright.tools.lsp.server import OperatorServer


class Feature(NamedTuple):
    """A request, the module of this package and its function that answers it, and what the server says of it.

    An answer that waits for another process `is_async`; others are made in threads. An answer with edits `is_edit`.
    """

    method: str
    module: str
    function: str = "answer"
    options: object = None
    is_async: bool = False
    is_edit: bool = False

    def answer(self, server: OperatorServer, params: object) -> Any:  # noqa: ANN401  each request has its own type
        """The answer to a request."""
        return getattr(import_module(f"opwright.tools.lsp.{self.module}"), self.function)(server, params)


#: What words can be, in the order of their numbers in the protocol: fields; operators and kernels; types; arguments;
#: other values of formulas; dispatch keys; tags.
TOKEN_TYPES: Final = ("property", "function", "type", "parameter", "variable", "enumMember", "decorator")

_LEGEND: Final = lsp.SemanticTokensLegend(TOKEN_TYPES, [])

#: The requests, in the order of docs/editors.md.
FEATURES: Final = (
    Feature(lsp.TEXT_DOCUMENT_HOVER, "answers", "hover"),
    Feature(
        lsp.TEXT_DOCUMENT_COMPLETION,
        "answers",
        "complete",
        lsp.CompletionOptions(trigger_characters=[":", ".", "{", ","]),
    ),
    Feature(lsp.TEXT_DOCUMENT_DEFINITION, "answers", "definition"),
    Feature(lsp.TEXT_DOCUMENT_IMPLEMENTATION, "answers", "implementation"),
    Feature(lsp.TEXT_DOCUMENT_REFERENCES, "answers", "references"),
    Feature(lsp.TEXT_DOCUMENT_PREPARE_RENAME, "answers", "prepare_rename"),
    Feature(lsp.TEXT_DOCUMENT_RENAME, "answers", "rename", lsp.RenameOptions(prepare_provider=True), is_edit=True),
    Feature(
        lsp.TEXT_DOCUMENT_CODE_ACTION,
        "fixing",
        "code_actions",
        lsp.CodeActionOptions(code_action_kinds=[lsp.CodeActionKind.QuickFix, lsp.CodeActionKind.SourceFixAll]),
        is_async=True,
    ),
    Feature(lsp.TEXT_DOCUMENT_FORMATTING, "fixing", "format_file", is_async=True),
    Feature(lsp.TEXT_DOCUMENT_DOCUMENT_SYMBOL, "answers", "document_symbols"),
    Feature(lsp.WORKSPACE_SYMBOL, "answers", "workspace_symbols"),
    Feature(
        lsp.TEXT_DOCUMENT_SIGNATURE_HELP,
        "signature_help",
        options=lsp.SignatureHelpOptions(trigger_characters=["(", ","]),
    ),
    Feature(lsp.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT, "answers", "highlights"),
    Feature(lsp.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL, "semantic_tokens", options=_LEGEND),
    Feature(lsp.TEXT_DOCUMENT_SEMANTIC_TOKENS_RANGE, "semantic_tokens", "answer_range"),
    Feature(lsp.TEXT_DOCUMENT_INLAY_HINT, "inlay_hints"),
    Feature(lsp.TEXT_DOCUMENT_CODE_LENS, "code_lens", options=lsp.CodeLensOptions(resolve_provider=True)),
    Feature(lsp.CODE_LENS_RESOLVE, "code_lens", "resolve"),
    Feature(lsp.TEXT_DOCUMENT_FOLDING_RANGE, "answers", "folding"),
    Feature(
        lsp.TEXT_DOCUMENT_DIAGNOSTIC,
        "answers",
        "diagnostics",
        options=lsp.DiagnosticOptions(inter_file_dependencies=True, workspace_diagnostics=False),
        is_async=True,
    ),
)


def serve(version: str, options: InputOptions, plugins: tuple[str, ...], checker: Checker) -> None:
    """Serve an editor on standard input and output until it ends the session.

    What plug-ins print goes to standard error.
    """
    _log_bugs()
    # Commands run without garbage collection, but catalogs are cycles, and a session makes one for each edit. What is
    # there already stays to the end, so no collection need look at it.
    gc.freeze()
    gc.enable()
    server = OperatorServer(version, options, plugins, checker)
    _add_state(server)
    for feature in FEATURES:
        server.feature(feature.method, feature.options)(_handler(feature))
    server.command(EXPLAIN)(_explain_operator)
    # The server closes its streams, which the program still flushes when it ends.
    with (
        os.fdopen(os.dup(sys.stdin.fileno()), "rb") as requests,
        os.fdopen(os.dup(sys.stdout.fileno()), "wb") as answers,
    ):
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
        try:
            server.start_io(requests, answers)
        finally:
            server.clean_up()


def _handler(feature: Feature) -> Callable[[OperatorServer, Any], Any]:
    """What pygls calls for a request."""

    async def answer_in_thread(server: OperatorServer, params: object) -> object:
        return await server.in_thread(feature.answer, params, is_edit=feature.is_edit)

    async def answer_later(server: OperatorServer, params: object) -> object:
        return await feature.answer(server, params)

    return answer_later if feature.is_async else answer_in_thread


async def _explain_operator(server: OperatorServer, uri: str, name: str) -> str | None:
    explain = import_module("opwright.tools.lsp.code_lens").explain_operator
    return await server.in_thread(explain, uri, name)


def _import_all() -> None:
    for name in dict.fromkeys([*[feature.module for feature in FEATURES], "diagnosis"]):
        import_module(f"opwright.tools.lsp.{name}")


def _add_state(server: OperatorServer) -> None:
    @server.feature(lsp.INITIALIZE)
    def initialize(_: lsp.InitializeParams) -> None:
        server.activate_plugins()

    @server.feature(lsp.INITIALIZED)
    async def initialized(_: lsp.InitializedParams) -> None:
        await asyncio.to_thread(_import_all)

    @server.feature(lsp.TEXT_DOCUMENT_DID_OPEN)
    def did_open(params: lsp.DidOpenTextDocumentParams) -> None:
        server.open(params.text_document)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CHANGE)
    def did_change(params: lsp.DidChangeTextDocumentParams) -> None:
        server.change(params)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CLOSE)
    def did_close(params: lsp.DidCloseTextDocumentParams) -> None:
        server.close(params.text_document.uri)


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
