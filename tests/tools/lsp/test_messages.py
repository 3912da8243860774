"""Each request gets an answer, and the texts of the server are those of the editor, whatever an editor sends."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from lsprotocol import types as lsp
from pygls.workspace import PositionCodec

from opwright.source.text import SourceFile
from opwright.tools.lsp.documents import changed_text, offset_at, position_at

_HOVER = "textDocument/hover"
_PARSE, _REQUEST, _METHOD, _PARAMETERS, _EARLY = -32700, -32600, -32601, -32602, -32002

#: What an editor sends, and the code of the error that it gets.
_MALFORMED: list[tuple[object, int]] = [
    (b"{", _PARSE),
    (b"\xff", _PARSE),
    (b"[" * 100_000, _PARSE),
    ([], _REQUEST),
    (3, _REQUEST),
    ({"id": 1}, _REQUEST),
    ({"jsonrpc": "1.0", "id": 1, "method": _HOVER}, _REQUEST),
    ({"jsonrpc": "2.0", "id": [1], "method": _HOVER}, _REQUEST),
    ({"jsonrpc": "2.0", "id": 1, "method": [_HOVER]}, _REQUEST),
    ({"jsonrpc": "2.0", "id": 1, "method": "textDocument/nothing", "params": {}}, _METHOD),
    ({"jsonrpc": "2.0", "id": 1, "method": "textDocument/didOpen", "params": {}}, _METHOD),
    ({"jsonrpc": "2.0", "id": 1, "method": _HOVER}, _PARAMETERS),
    *[
        ({"jsonrpc": "2.0", "id": 1, "method": _HOVER, "params": params}, _PARAMETERS)
        for params in (
            None,
            [1],
            {},
            {"jsonrpc": "2.0"},
            {"textDocument": {"uri": "file:///a.yaml"}, "position": {"line": -1, "character": 0}},
            {"textDocument": {"uri": "file:///a.yaml"}, "position": {"line": "a", "character": 0}},
        )
    ],
]
#: What no request reads: a device without an end, a pipe that nobody writes, no file at all.
_UNREADABLE = ["file:///dev/zero", "file:///a%00b", "file://[", "untitled:1", "file:///"]


class _Session:
    """A session with a server, without a client that checks what it sends."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._requests, self._answers = process.stdin, process.stdout

    def send(self, message: object) -> None:
        """Send a message, or bytes that are none."""
        body = message if isinstance(message, bytes) else json.dumps(message).encode()
        self._requests.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        self._requests.flush()

    def ask(self, message: object) -> dict[str, Any]:
        """The answer to a message."""
        self.send(message)
        length = 0
        while (line := self._answers.readline()) != b"\r\n":
            name, _, value = line.partition(b":")
            length = int(value) if name == b"Content-Length" else length
        return cast("dict[str, Any]", json.loads(self._answers.read(length)))

    def request(self, method: str, params: object) -> dict[str, Any]:
        """The answer to a request."""
        return self.ask({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})


@pytest.fixture(scope="module")
def session() -> Iterator[_Session]:
    """A session that has begun."""
    command = [sys.executable, "-m", "opwright", "lsp"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        own = _Session(process)
        assert own.request(_HOVER, {})["error"]["code"] == _EARLY
        assert "result" in own.request("initialize", {"capabilities": {}, "processId": None, "rootUri": None})
        yield own
        assert own.request("shutdown", None)["result"] is None
        assert own.request(_HOVER, {})["error"]["code"] == _REQUEST
        own.send({"jsonrpc": "2.0", "method": "exit"})
        assert process.wait(60) == 0
        assert process.stderr is not None
        assert b"Traceback" not in process.stderr.read()


@pytest.mark.parametrize(("message", "code"), _MALFORMED)
def test_malformed_messages_are_answered(session: _Session, message: object, code: int) -> None:
    """A message that cannot be handled gets an error with its identifier, if it has a valid one."""
    answer = session.ask(message)
    is_object = isinstance(message, dict) and isinstance(message.get("id"), int)
    assert (answer["error"]["code"], answer["id"]) == (code, 1 if is_object else None)


@pytest.mark.parametrize("uri", _UNREADABLE)
def test_only_files_are_read(session: _Session, uri: str) -> None:
    """Requests about what is no file get the answer that nothing is known."""
    place = {"textDocument": {"uri": uri}, "position": {"line": 0, "character": 0}}
    assert session.request(_HOVER, place)["result"] is None
    assert session.request("textDocument/definition", place)["result"] == []
    assert session.request("textDocument/rename", {**place, "newName": "x"})["result"] is None


@pytest.mark.thorough
def test_pipes_are_not_read(session: _Session, tmp_path: Path) -> None:
    """A pipe with the name of an operator file, which nobody writes, keeps no request waiting."""
    os.mkfifo(tmp_path / "native_functions.yaml")
    place = {
        "textDocument": {"uri": (tmp_path / "native_functions.yaml").as_uri()},
        "position": {"line": 0, "character": 0},
    }
    assert session.request(_HOVER, place)["result"] is None


def _plain_position(text: str, offset: int, unit: str) -> lsp.Position:
    """The position of an offset, counted in the encoded text."""
    line = text.count("\n", 0, offset)
    before = text[text.rfind("\n", 0, offset) + 1 : offset]
    return lsp.Position(line, len(before.encode(unit)) // len("a".encode(unit)))


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("kind", "unit"),
    [
        (lsp.PositionEncodingKind.Utf8, "utf-8"),
        (lsp.PositionEncodingKind.Utf16, "utf-16-le"),
        (lsp.PositionEncodingKind.Utf32, "utf-32-le"),
    ],
)
def test_edits_apply_as_in_an_editor(kind: lsp.PositionEncodingKind, unit: str) -> None:
    """After random edits the server has the editor's text; only line feeds break lines, not `\\x0c` or `\\u2028`."""
    chance, codec = random.Random(0), PositionCodec(kind)
    pieces = ["- func: f(Tensor self)", "\n", "\n\n", "\u2028", "\x0c", "\x85", "\U0001f600", "\u00e9", " ", ""]
    text = ""
    for _ in range(400):
        start = chance.randint(0, len(text))
        end = min(len(text), start + chance.choice((0, 0, 1, 3, 20)))
        file = SourceFile("x.yaml", text)
        places = [_plain_position(text, offset, unit) for offset in (start, end)]
        assert [offset_at(file, place, codec) for place in places] == [start, end]
        assert [position_at(file, offset, codec) for offset in (start, end)] == places
        new = chance.choice(pieces)
        change = lsp.TextDocumentContentChangePartial(lsp.Range(*places), new)
        text = text[:start] + new + text[end:]
        assert changed_text(file, [change], codec) == text
