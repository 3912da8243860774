"""A session of an editor with the language server: each feature once, on the files of the installed PyTorch."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path

import pytest
from lsprotocol import types as lsp

from tests.tools.lsp.session import DERIVATIVES, NATIVE, PLAIN, Editor, Start, editor, write_tree

_BACKEND = """\
backend: PrivateUse1
cpp_namespace: acme
supported:
- add.out
- mul.Tensro
"""


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A source tree with the YAML of the installed PyTorch."""
    return write_tree(tmp_path_factory.mktemp("pytorch"))


def _in_session(folder: Path, steps: Callable[[Editor], Coroutine[None, None, None]], start: Start = PLAIN) -> None:
    async def session() -> None:
        async with editor(folder, start) as own:
            await steps(own)

    asyncio.run(asyncio.wait_for(session(), 120))


def _names(locations: object, editor: Editor) -> list[str]:
    """Where locations are: file and the text of the line."""
    names = []
    assert isinstance(locations, Sequence)
    for location in locations:
        path = Path(location.uri.removeprefix("file://"))
        text = editor.texts.get(location.uri) or path.read_text()
        names.append(f"{path.name}: {text.splitlines()[location.range.start.line].strip()[:30]}")
    return names


def test_diagnostics_follow_keystrokes(tree: Path) -> None:
    """An edit is answered with the faults of the entries that it touches, and an edit back with none."""

    async def steps(own: Editor) -> None:
        uri = await own.open(tree / NATIVE)
        errors = [row for row in own.client.diagnostics[uri] if row.severity is lsp.DiagnosticSeverity.Error]
        assert not errors
        after = await own.replace(uri, "- func: relu(Tensor self)", "- func: relu(Tensro self)")
        assert [(row.code, row.message.split("\n")[0]) for row in after] == [("E0202", "unknown type `Tensro`")]
        place = after[0].range.start
        assert own.texts[uri].splitlines()[place.line][place.character :].startswith("Tensro self")
        assert not await own.replace(uri, "- func: relu(Tensro self)", "- func: relu(Tensor self)")

    _in_session(tree, steps)


@pytest.mark.thorough
def test_positions_lead_to_what_they_name(tree: Path) -> None:
    """Hover, definition, implementation, references and symbols know operators, fields, keys and tags."""

    async def steps(own: Editor) -> None:
        uri = await own.open(tree / NATIVE)
        client = own.client
        hover = await client.text_document_hover_async(
            lsp.HoverParams(*own.at(uri, "structured_delegate: add.out", "add.out"))
        )
        assert hover is not None
        assert isinstance(hover.contents, lsp.MarkupContent)
        assert "at::Tensor & add_out(" in hover.contents.value.replace("at::add_out", "add_out")
        assert "ufunc_add_CPU" in hover.contents.value
        hover = await client.text_document_hover_async(lsp.HoverParams(*own.at(uri, "  device_check: ", "device")))
        assert "devices" in str(hover)
        delegate = await client.text_document_definition_async(
            lsp.DefinitionParams(*own.at(uri, "structured_delegate: add.out", "add.out"))
        )
        assert _names(delegate, own) == ["native_functions.yaml: - func: add.out(Tensor self, T"]
        derivative = await client.text_document_implementation_async(
            lsp.ImplementationParams(*own.at(uri, "- func: addmm(", "addmm"))
        )
        assert _names(derivative, own) == ["derivatives.yaml: - name: addmm(Tensor self, Ten"]
        references = await client.text_document_references_async(
            lsp.ReferenceParams(lsp.ReferenceContext(True), *own.at(uri, "- func: addmm.out(", "addmm.out"))
        )
        files = [name.split(":")[0] for name in _names(references, own)]
        assert files.count("native_functions.yaml") == 3
        symbols = await client.text_document_document_symbol_async(
            lsp.DocumentSymbolParams(lsp.TextDocumentIdentifier(uri))
        )
        assert "relu" in [symbol.name for symbol in symbols or []]
        found = await client.workspace_symbol_async(lsp.WorkspaceSymbolParams("_fused_adagrad"))
        assert {symbol.name for symbol in found or ()} >= {"_fused_adagrad_", "_fused_adagrad_.tensor_lr"}

    _in_session(tree, steps)


@pytest.mark.thorough
def test_arguments_are_renamed_in_all_files(tree: Path) -> None:
    """Renaming an argument changes the schemas of the whole group, and formulas and keys of derivatives."""

    async def steps(own: Editor) -> None:
        uri = await own.open(tree / NATIVE)
        place = own.at(uri, "- func: addmm(Tensor self, Tensor mat1", "mat1")
        assert await own.client.text_document_prepare_rename_async(lsp.PrepareRenameParams(*place)) is not None
        edit = await own.client.text_document_rename_async(lsp.RenameParams(*place, "left"))
        assert edit is not None
        assert edit.changes is not None
        counts = {uri.rpartition("/")[2]: len(edits) for uri, edits in edit.changes.items()}
        assert counts["native_functions.yaml"] == 3
        text = (tree / DERIVATIVES).read_text()
        entry = text[text.index("- name: addmm(") :].partition("\n\n")[0]
        assert counts["derivatives.yaml"] == len(re.findall(r"\bmat1(?:_[pt])?\b", entry))

    _in_session(tree, steps)


@pytest.mark.thorough
def test_backend_files_are_completed_and_fixed(tmp_path: Path) -> None:
    """Sections, options and operators are offered; a misspelt operator can be changed to the one that is meant."""
    (tmp_path / "acme.yaml").write_text(_BACKEND)

    async def steps(own: Editor) -> None:
        uri = await own.open(tmp_path / "acme.yaml")
        (row,) = [row for row in own.client.diagnostics[uri] if row.severity is lsp.DiagnosticSeverity.Error]
        document = lsp.TextDocumentIdentifier(uri)
        actions = await own.client.text_document_code_action_async(
            lsp.CodeActionParams(document, row.range, lsp.CodeActionContext([row]))
        )
        assert [action.title for action in actions or []] == ["Change to `mul.Tensor`"]
        await own.replace(uri, "add.out", "add.out: {struc")
        answers = await own.client.text_document_completion_async(lsp.CompletionParams(*own.at(uri, "add.out: {struc")))
        assert isinstance(answers, lsp.CompletionList)
        assert "structured" in [item.label for item in answers.items]
        answers = await own.client.text_document_completion_async(lsp.CompletionParams(*own.at(uri, "- mul.Tens")))
        assert isinstance(answers, lsp.CompletionList)
        assert {"mul.Tensor", "mul.out"} <= {item.label for item in answers.items}

    _in_session(tmp_path, steps)


@pytest.mark.thorough
def test_diagnostics_of_plugins(tmp_path: Path) -> None:
    """A plug-in of the command line adds its keys, and one that does not load is reported where a file begins."""
    (tmp_path / "keys.py").write_text(
        "from opwright.plugin import ExtraKey, Plugin\n"
        'plugin = Plugin("keys", api=1, extra_keys=[ExtraKey("fast", bool, where="backend entry")])\n'
    )
    path = tmp_path / "acme.yaml"
    text = "backend: PrivateUse1\ncpp_namespace: acme\nsupported:\n- add.out: {fast: 3}\n"
    path.write_text(text)

    def errors(rows: Sequence[lsp.Diagnostic]) -> list[str]:
        return [row.message.split("\n")[0] for row in rows if row.severity is lsp.DiagnosticSeverity.Error]

    async def steps(own: Editor) -> None:
        uri = await own.open(path)
        assert errors(own.client.diagnostics[uri]) == ["`fast` is an integer, not a boolean"]
        assert not errors(await own.replace(uri, "fast: 3", "fast: true"))
        (tmp_path / "keys.py").unlink()
        missing = f"no plug-in `{tmp_path / 'keys.py'}`: there is no such file"
        assert missing in errors(await own.replace(uri, "add.out", "mul.out"))

    _in_session(tmp_path, steps, Start(("lsp", "--plugin", str(tmp_path / "keys.py"))))
