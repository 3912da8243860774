"""The protocol as pygls speaks it, with an answer to each request, however malformed it is."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, Final

from cattrs import transform_error
from lsprotocol import types as lsp
from pygls.exceptions import (
    JsonRpcException,
    JsonRpcInvalidParams,
    JsonRpcInvalidRequest,
    JsonRpcMethodNotFound,
    JsonRpcServerNotInitialized,
)
from pygls.protocol import LanguageServerProtocol, lsp_method

#: The command of the server that explains an operator, with the file and the operator.
EXPLAIN: Final = "opwright.explainOperator"


class AnsweringProtocol(LanguageServerProtocol):
    """Answers each message that asks for something, with an error where it cannot be handled.

    The server keeps the texts of open files itself, so that no request reads a file that an editor names.
    """

    def structure_message(self, data: dict[str, Any]) -> object:
        """The data as they are: pygls asks this for each object of a message, and `handle_message` for the whole."""
        return data

    def handle_message(self, message: object) -> None:
        """Give a decoded message to its handler, or answer with what is wrong with it."""
        try:
            structured = self._structured(message)
        except JsonRpcException as error:
            if isinstance(message, dict) and "id" not in message and "method" in message:
                # Nobody waits for an answer to a notification.
                self._server.report_server_error(error, JsonRpcException)
            else:
                self.refuse(message, error.to_response_error())
            return
        if structured is not None:
            super().handle_message(structured)

    def refuse(self, message: object, error: lsp.ResponseError) -> None:
        """Answer a message that no handler gets."""
        identifier = message.get("id") if isinstance(message, dict) else None
        if not _is_identifier(identifier):
            identifier = None
        # The types of the protocol leave an identifier out that is null.
        self._send_data({"jsonrpc": self.VERSION, "id": identifier, "error": self._converter.unstructure(error)})

    def _structured(self, message: object) -> Any:  # noqa: ANN401  what pygls takes has no common type
        """The message as an object of the protocol; None for one that may be ignored.

        Raises JsonRpcException for a message that cannot be handled.
        """
        if not isinstance(message, dict) or message.get("jsonrpc") != self.VERSION:
            raise JsonRpcInvalidRequest('a message is an object with `jsonrpc`: "2.0"')
        if _is_response(message):
            return super().structure_message(message) if message["id"] in self._request_futures else None
        method = message.get("method")
        if not isinstance(method, str):
            raise JsonRpcInvalidRequest("`method` is a string")
        if "id" in message:
            self._check_request(message, method)
        elif not self._is_handled(method) or not self._is_ready(method):
            return None
        message_type = self.get_message_type(method)
        assert message_type is not None, "the methods that are handled are those of the protocol"
        try:
            return self._converter.structure(message, message_type)
        except Exception as error:
            raise JsonRpcInvalidParams(f"wrong parameters of {method}: {'; '.join(transform_error(error))}") from None

    def _is_handled(self, method: str) -> bool:
        return method == lsp.CANCEL_REQUEST or method in {*self.fm.builtin_features, *self.fm.features}

    def _is_ready(self, method: str) -> bool:
        return self._workspace is not None or method in (lsp.INITIALIZE, lsp.EXIT)

    def _check_request(self, message: dict[str, object], method: str) -> None:
        """Raise JsonRpcException for a request that the server does not answer in its state, or at all."""
        if not _is_identifier(message["id"]):
            raise JsonRpcInvalidRequest("`id` is an integer or a string")
        if self._shutdown:
            raise JsonRpcInvalidRequest("the server is shutting down")
        if not self._is_handled(method) or self.get_result_type(method) is None:
            raise JsonRpcMethodNotFound.of(method)
        if not self._is_ready(method):
            raise JsonRpcServerNotInitialized("the first request is `initialize`")

    # Instead of what pygls does here: it keeps a text of its own, with other line breaks than those of the protocol.

    @lsp_method(lsp.TEXT_DOCUMENT_DID_OPEN)
    def lsp_text_document__did_open(self, params: lsp.DidOpenTextDocumentParams) -> Generator[Any, Any, None]:
        """Give a text to the server."""
        yield self.fm.features[lsp.TEXT_DOCUMENT_DID_OPEN], (params,), None

    @lsp_method(lsp.TEXT_DOCUMENT_DID_CHANGE)
    def lsp_text_document__did_change(self, params: lsp.DidChangeTextDocumentParams) -> Generator[Any, Any, None]:
        """Give changes of a text to the server."""
        yield self.fm.features[lsp.TEXT_DOCUMENT_DID_CHANGE], (params,), None

    @lsp_method(lsp.TEXT_DOCUMENT_DID_CLOSE)
    def lsp_text_document__did_close(self, params: lsp.DidCloseTextDocumentParams) -> Generator[Any, Any, None]:
        """Tell the server that a text is closed."""
        yield self.fm.features[lsp.TEXT_DOCUMENT_DID_CLOSE], (params,), None


def _is_response(message: dict[str, Any]) -> bool:
    return "method" not in message and ("result" in message or "error" in message) and _is_identifier(message.get("id"))


def _is_identifier(value: object) -> bool:
    return isinstance(value, int | str) and not isinstance(value, bool)
