"""A source tree of PyTorch with the files of the installed release, and an editor's session with the server."""

from __future__ import annotations

import shutil
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

from lsprotocol import types as lsp
from pytest_lsp import LanguageClient, make_test_lsp_client

import opwright

__all__ = ["DERIVATIVES", "NATIVE", "PLAIN", "Editor", "Start", "editor", "write_templates", "write_tree"]

NATIVE = "aten/src/ATen/native/native_functions.yaml"
DERIVATIVES = "tools/autograd/derivatives.yaml"
_PLACES = {
    "native/native_functions.yaml": NATIVE,
    "native/tags.yaml": "aten/src/ATen/native/tags.yaml",
    "autograd/derivatives.yaml": DERIVATIVES,
    "autograd/deprecated.yaml": "tools/autograd/deprecated.yaml",
}


def write_templates(folder: Path) -> None:
    """The templates of the installed PyTorch, in a source tree of its version and without C shims below a folder."""
    inputs = opwright.open_inputs()
    table = folder / "torchgen" / "aoti" / "fallback_ops.py"
    table.parent.mkdir(parents=True)
    (folder / "version.txt").write_text(f"{inputs.version_text}\n", encoding="utf-8")
    table.write_text("inductor_fallback_ops = {}\naten_shimified_ops = {}\n", encoding="utf-8")
    for name, place in (("templates", "aten/src/ATen/templates"), ("autograd/templates", "tools/autograd/templates")):
        shutil.copytree(Path(inputs.display_path(name)), folder / place)


def write_tree(folder: Path) -> Path:
    """A source tree below a folder with the YAML and the templates of the installed PyTorch."""
    inputs = opwright.open_inputs()
    write_templates(folder)
    for name, path in _PLACES.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(inputs.read_text(name).path, target)
    return folder


class Editor:
    """An editor with open files: its client, the texts and their versions."""

    def __init__(self, client: LanguageClient, capabilities: lsp.ServerCapabilities | None = None) -> None:
        self.client = client
        self.capabilities = capabilities
        self.texts: dict[str, str] = {}
        self._versions: dict[str, int] = {}

    @property
    def process(self) -> int:
        """The identifier of the server's process."""
        assert self.client._server is not None
        return self.client._server.pid

    async def open(self, path: Path) -> str:
        """Open a file, and wait for its diagnostics; the URI of the file."""
        uri = self.send_open(path)
        await self.published(uri)
        return uri

    def send_open(self, path: Path) -> str:
        """Open a file, without waiting; the URI of the file."""
        uri, text = path.as_uri(), path.read_text()
        self.texts[uri], self._versions[uri] = text, 1
        item = lsp.TextDocumentItem(uri, "yaml", 1, text)
        self.client.text_document_did_open(lsp.DidOpenTextDocumentParams(item))
        return uri

    async def published(self, uri: str) -> list[lsp.Diagnostic]:
        """Wait until the server publishes diagnostics of a file."""
        while True:
            await self.client.wait_for_notification(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
            if uri in self.client.diagnostics:
                return list(self.client.diagnostics[uri])

    async def replace(self, uri: str, old: str, new: str) -> list[lsp.Diagnostic]:
        """Replace the first occurrence of a text, and wait for the first diagnostics after it."""
        self.send_edit(uri, old, new)
        return await self.published(uri)

    def send_edit(self, uri: str, old: str, new: str) -> None:
        """Replace the first occurrence of a text, without waiting."""
        start = self.texts[uri].index(old)
        edited = lsp.Range(self.position(uri, start), self.position(uri, start + len(old)))
        self.texts[uri] = self.texts[uri].replace(old, new, 1)
        self._versions[uri] += 1
        document = lsp.VersionedTextDocumentIdentifier(self._versions[uri], uri)
        change = lsp.TextDocumentContentChangePartial(edited, new)
        self.client.text_document_did_change(lsp.DidChangeTextDocumentParams(document, [change]))

    def position(self, uri: str, offset: int) -> lsp.Position:
        """The position of an offset in an open file."""
        before = self.texts[uri][:offset].split("\n")
        return lsp.Position(len(before) - 1, len(before[-1]))

    def at(self, uri: str, context: str, word: str = "") -> tuple[lsp.TextDocumentIdentifier, lsp.Position]:
        """The place of a word in the first occurrence of a text, one character after the word's beginning."""
        start = self.texts[uri].index(context)
        offset = start + (context.index(word) + 1 if word else len(context))
        return lsp.TextDocumentIdentifier(uri), self.position(uri, offset)


class Start(NamedTuple):
    """How an editor starts the server: words, environment, working folder; its options, and what it can do."""

    words: Sequence[str] = ("lsp",)
    environment: Mapping[str, str] | None = None
    folder: Path | None = None
    options: object = None
    capabilities: lsp.ClientCapabilities = lsp.ClientCapabilities()


PLAIN = Start()


@asynccontextmanager
async def editor(folder: Path, start: Start = PLAIN) -> AsyncIterator[Editor]:
    """A session with a server whose workspace is a folder."""
    client = make_test_lsp_client()
    command = (sys.executable, "-m", "opwright", *start.words)
    await client.start_io(*command, env=start.environment, cwd=start.folder)
    root = lsp.WorkspaceFolder(folder.as_uri(), folder.name)
    params = lsp.InitializeParams(
        start.capabilities, workspace_folders=[root], root_uri=folder.as_uri(), initialization_options=start.options
    )
    result = await client.initialize_session(params)
    try:
        yield Editor(client, result.capabilities)
    finally:
        await client.shutdown_session()
        await client.stop()  # type: ignore[no-untyped-call]
