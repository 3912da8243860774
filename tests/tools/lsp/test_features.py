"""What docs/editors.md says that an editor shows, each feature once, through the protocol, on a small source tree."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types as lsp

from opwright.tools.lsp.features import FEATURES, TOKEN_TYPES
from opwright.tools.lsp.protocol import EXPLAIN
from tests.tools.lsp.session import PLAIN, Editor, Start, editor
from tests.tools.lsp.small_tree import SmallTree

ROOT = Path(__file__).resolve().parents[3]
NATIVE = "aten/src/ATen/native/native_functions.yaml"
DERIVATIVES = "tools/autograd/derivatives.yaml"
KERNELS = """\
namespace at::native {

TORCH_IMPL_FUNC(scale_out)(const Tensor& self, const Scalar& factor, const Tensor& out) {
}

Tensor shift_cpu(const Tensor& self, IntArrayRef by) {
  return shift_cpu(self, by);
}

Tensor half(const Tensor& self) {
  return self;
}

}
"""
HELPERS = """\
namespace torch::autograd::generated::details {
at::Tensor shift_backward(const at::Tensor& grad, at::IntArrayRef by{});
}}
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A source tree of PyTorch with the kernels of its operators, and with the helpers of its formulas."""
    SmallTree(tmp_path)
    (tmp_path / "aten/src/ATen/native/Scale.cpp").write_text(KERNELS)
    folder = tmp_path / "torch/csrc/autograd"
    folder.mkdir(parents=True)
    (folder / "FunctionsManual.h").write_text(HELPERS.replace("{}", "").replace("}}", "}"))
    (folder / "FunctionsManual.cpp").write_text(
        HELPERS.replace("by{}", "by").replace(";", " {\n  return grad;\n}").replace("}}", "}")
    )
    return tmp_path


Steps = Callable[[Editor], Coroutine[Any, Any, None]]


def in_session(folder: Path, steps: Steps, start: Start = PLAIN) -> None:
    """Run the steps of an editor in a session."""

    async def session() -> None:
        async with editor(folder, start) as own:
            await steps(own)

    asyncio.run(asyncio.wait_for(session(), 120))


def lines(locations: object) -> list[str]:
    """Files and lines of locations, counted from 1."""
    assert isinstance(locations, list)
    return [f"{Path(location.uri).name}:{location.range.start.line + 1}" for location in locations]


async def shown(own: Editor, uri: str, context: str, word: str) -> str:
    """What an editor shows for a word."""
    hover = await own.client.text_document_hover_async(lsp.HoverParams(*own.at(uri, context, word)))
    assert hover is not None
    assert isinstance(hover.contents, lsp.MarkupContent)
    return hover.contents.value


def test_hover(tree: Path) -> None:
    """Keys, kernels, types, arguments, tags, and the values and functions of formulas are explained."""

    async def steps(own: Editor) -> None:
        native = await own.open(tree / NATIVE)
        assert "CompositeExplicitAutograd" in await shown(own, native, "    CPU: scale_out", "CPU")
        kernel = await shown(own, native, "CPU: shift_cpu", "shift_cpu")
        assert kernel.startswith("kernel of `shift` for CPU")
        assert "at::Tensor at::native::shift_cpu(const at::Tensor & self, at::IntArrayRef by" in kernel
        assert "`at::Scalar`" in await shown(own, native, "- func: scale(Tensor self, Scalar factor", "Scalar")
        argument = await shown(own, native, "- func: shift(Tensor self, int[] by", "by")
        assert argument.startswith("input argument **by** of type `int[]`, by default `[]`")
        assert "at::IntArrayRef by" in argument
        assert "built from" in await shown(own, native, "tags: core", "core")
        formulas = await own.open(tree / DERIVATIVES)
        assert "the gradient of the first result" in await shown(own, formulas, "self: grad * factor", "grad")
        assert "the tangent of self" in await shown(own, formulas, "result: self_t", "self_t")
        helper = await shown(own, formulas, "shift_backward(grad", "shift_backward")
        assert "shift_backward(const at::Tensor& grad, at::IntArrayRef by)" in helper

    in_session(tree, steps)


def test_completion(tree: Path) -> None:
    """Formulas are completed with their values and helpers, whose signatures are shown; `dispatch` with kernels."""

    async def offered(own: Editor, uri: str, typed: str) -> dict[str, str | None]:
        answers = await own.client.text_document_completion_async(lsp.CompletionParams(*own.at(uri, typed)))
        assert isinstance(answers, lsp.CompletionList)
        return {item.label: item.detail for item in answers.items}

    async def steps(own: Editor) -> None:
        formulas = await own.open(tree / DERIVATIVES)
        names = await offered(own, formulas, "self: grad * fac")
        assert {"grad", "grads", "result", "self", "factor"} <= names.keys()
        assert "factor_t" not in names
        assert names["shift_backward"] == "shift_backward(const at::Tensor& grad, at::IntArrayRef by)"
        assert {"self_p", "self_t"} <= (await offered(own, formulas, "result: self")).keys()
        native = await own.open(tree / NATIVE)
        assert "shift_cpu" in await offered(own, native, "CPU: shif")
        assert "scale_out" in await offered(own, native, "CPU: sca")

    in_session(tree, steps)


@pytest.mark.thorough
def test_definitions_in_sources(tree: Path) -> None:
    """A kernel leads to its function, the function to the entry; a helper leads to its definition, and back."""

    async def steps(own: Editor) -> None:
        native, formulas = await own.open(tree / NATIVE), await own.open(tree / DERIVATIVES)
        sources = [tree / "aten/src/ATen/native/Scale.cpp", tree / "torch/csrc/autograd/FunctionsManual.cpp"]
        kernels, helpers = (path.as_uri() for path in sources)
        for path in sources:
            own.texts[path.as_uri()] = path.read_text()

        async def definitions(uri: str, context: str, word: str) -> list[str]:
            params = lsp.DefinitionParams(*own.at(uri, context, word))
            return lines(await own.client.text_document_definition_async(params))

        assert await definitions(native, "CPU: shift_cpu", "shift_cpu") == ["Scale.cpp:6"]
        assert await definitions(native, "CPU: scale_out", "scale_out") == ["Scale.cpp:3"]
        assert await definitions(kernels, "Tensor shift_cpu", "shift_cpu") == ["native_functions.yaml:15"]
        assert await definitions(kernels, "FUNC(scale_out", "scale_out") == ["native_functions.yaml:5"]
        assert await definitions(kernels, "Tensor half(", "half") == ["native_functions.yaml:18"]
        assert await definitions(formulas, "self: shift_backward(", "shift_backward") == ["FunctionsManual.cpp:2"]
        assert await definitions(helpers, "shift_backward", "shift_backward") == ["derivatives.yaml:6"]

    in_session(tree, steps)


@pytest.mark.thorough
def test_marks_in_a_file(tree: Path) -> None:
    """Words have colours, lines have hints and lenses, entries fold, and the places of a name are highlighted."""

    async def steps(own: Editor) -> None:
        uri = await own.open(tree / NATIVE)
        document, text = lsp.TextDocumentIdentifier(uri), own.texts[uri].split("\n")
        whole = lsp.Range(lsp.Position(0, 0), lsp.Position(len(text), 0))
        tokens = await own.client.text_document_semantic_tokens_full_async(lsp.SemanticTokensParams(document))
        assert tokens is not None
        words = list(decoded(tokens.data, text))
        assert words[:4] == [("func", "property"), ("scale.out", "function"), ("Tensor", "type"), ("self", "parameter")]
        assert {("CPU", "enumMember"), ("scale_out", "function"), ("core", "decorator")} <= set(words)
        part = await own.client.text_document_semantic_tokens_range_async(
            lsp.SemanticTokensRangeParams(document, lsp.Range(lsp.Position(1, 0), lsp.Position(1, 9)))
        )
        assert part is not None
        assert list(decoded(part.data, text)) == words[: len(part.data) // 5]
        hints = await own.client.text_document_inlay_hint_async(lsp.InlayHintParams(document, whole))
        labels = [(hint.position.line + 1, hint.label) for hint in hints or ()]
        assert (8, "at::Tensor scale(const at::Tensor & self, const at::Scalar & factor)") in labels
        assert (8, "(CPU: scale_out, of scale.out)") in labels
        assert (18, "(CompositeImplicitAutograd: half)") in labels
        assert [label for line, label in labels if line == 12 and str(label).startswith("(")] == []
        folds = await own.client.text_document_folding_range_async(lsp.FoldingRangeParams(document))
        assert {(fold.start_line, fold.end_line) for fold in folds or ()} >= {(1, 5), (3, 4), (11, 15)}
        highlights = await own.client.text_document_document_highlight_async(
            lsp.DocumentHighlightParams(*own.at(uri, "- func: scale.out", "scale"))
        )
        assert [own_place.range.start.line + 1 for own_place in highlights or ()] == [2, 9]
        argument = await own.client.text_document_document_highlight_async(
            lsp.DocumentHighlightParams(*own.at(uri, "int[] by", "by"))
        )
        assert [own_place.range.start.line + 1 for own_place in argument or ()] == [12, 13]

    in_session(tree, steps)


def decoded(data: object, text: list[str]) -> list[tuple[str, str]]:
    """The words of semantic tokens, with their types."""
    assert isinstance(data, list | tuple)
    words, line, column = [], 0, 0
    for index in range(0, len(data), 5):
        down, right, length, type, _ = data[index : index + 5]
        line, column = line + down, right + (0 if down else column)
        words.append((text[line][column : column + length], TOKEN_TYPES[type]))
    return words


@pytest.mark.thorough
def test_code_lens(tree: Path) -> None:
    """Each entry says how many kernels serve it and whether it has a derivative; its lens explains the operator."""

    async def steps(own: Editor) -> None:
        uri = await own.open(tree / NATIVE)
        lenses = await own.client.text_document_code_lens_async(lsp.CodeLensParams(lsp.TextDocumentIdentifier(uri)))
        titles: dict[int, list[str]] = {}
        for lens in lenses or ():
            lens = lens if lens.command is not None else await own.client.code_lens_resolve_async(lens)
            assert lens.command is not None
            titles.setdefault(lens.range.start.line + 1, []).append(lens.command.title)
        assert titles[8] == ["1 kernel, derivative", "explain"]
        assert titles[18] == ["1 kernel, no derivative", "explain"]
        answer = await own.client.workspace_execute_command_async(
            lsp.ExecuteCommandParams(EXPLAIN, arguments=[uri, "scale"])
        )
        assert isinstance(answer, str)
        assert "Dispatch\n" in answer
        assert [message.message for message in own.client.messages] == [answer]

    in_session(tree, steps)


@pytest.mark.thorough
def test_signature_help(tree: Path) -> None:
    """In a call of a helper or an operator, its parameters are shown, and the one that is being written is marked."""

    async def steps(own: Editor) -> None:
        uri = await own.open(tree / DERIVATIVES)

        async def signature(context: str) -> tuple[str, object, int | None]:
            help = await own.client.text_document_signature_help_async(lsp.SignatureHelpParams(*own.at(uri, context)))
            assert help is not None
            own_signature = help.signatures[help.active_signature or 0]
            assert own_signature.parameters is not None
            assert isinstance(help.active_parameter, int)
            part = own_signature.parameters[help.active_parameter].label
            assert isinstance(part, tuple | list)
            return own_signature.label, own_signature.label[part[0] : part[1]], help.active_parameter

        label = "shift_backward(const at::Tensor& grad, at::IntArrayRef by)"
        assert await signature("self: shift_backward(gr") == (label, "const at::Tensor& grad", 0)
        assert await signature("self: shift_backward(grad, ") == (label, "at::IntArrayRef by", 1)
        await own.replace(uri, "self: grad * factor", "self: scale(grad, ")
        assert await signature("self: scale(grad, ") == (
            "at::scale(const at::Tensor & self, const at::Scalar & factor)",
            "const at::Scalar & factor",
            1,
        )

    in_session(tree, steps)


@pytest.mark.thorough
def test_operators_are_renamed(tree: Path) -> None:
    """A new name is that of all overloads, in entries, fields and derivatives, and in open backend files."""
    (tree / "acme.yaml").write_text("backend: PrivateUse1\ncpp_namespace: acme\nsupported:\n- scale.out\n- shift\n")

    async def steps(own: Editor) -> None:
        uri = await own.open(tree / NATIVE)
        backend = await own.open(tree / "acme.yaml")
        formulas = await own.open(tree / DERIVATIVES)
        place = own.at(uri, "structured_delegate: scale.out", "scale.out")
        assert await own.client.text_document_prepare_rename_async(lsp.PrepareRenameParams(*place)) is not None
        edit = await own.client.text_document_rename_async(lsp.RenameParams(*place, "resize.out"))
        assert edit is not None
        assert edit.changes is not None
        counts = {name: len(edits) for name, edits in edit.changes.items()}
        assert counts == {uri: 3, formulas: 1, backend: 1}
        for name, reason in (("shift.out", "already"), ("a b", "not a name"), ("half_.out", "in-place")):
            with pytest.raises(Exception, match=reason):
                await own.client.text_document_rename_async(lsp.RenameParams(*place, name))

    in_session(tree, steps)


LIBRARY = """\
namespace: acme
operators:
- func: f( Tensor x,int n )->(Tensor)
  tags: [core, core]
  dispatch:
    CPU: f
"""


@pytest.mark.thorough
def test_formatting_and_fixes(tmp_path: Path) -> None:
    """Formatting does what `opwright format` does, `source.fixAll` what `opwright check --fix` does."""
    (tmp_path / "acme.yaml").write_text(LIBRARY)

    async def steps(own: Editor) -> None:
        uri = await own.open(tmp_path / "acme.yaml")
        document = lsp.TextDocumentIdentifier(uri)
        edits = await own.client.text_document_formatting_async(
            lsp.DocumentFormattingParams(document, lsp.FormattingOptions(2, insert_spaces=True))
        )
        lines = LIBRARY.splitlines(keepends=True)
        for edit in sorted(edits or (), key=lambda edit: edit.range.start.line, reverse=True):
            lines[edit.range.start.line : edit.range.end.line] = [edit.new_text]
        fields = "  dispatch:\n    CPU: f\n  tags: [core, core]\n"
        assert "".join(lines) == f"namespace: acme\noperators:\n- func: f(Tensor x, int n) -> Tensor\n{fields}"
        context = lsp.CodeActionContext([], only=[lsp.CodeActionKind.SourceFixAll])
        start = lsp.Range(lsp.Position(2, 0), lsp.Position(3, 0))
        (action,) = (
            await own.client.text_document_code_action_async(lsp.CodeActionParams(document, start, context)) or ()
        )
        assert isinstance(action, lsp.CodeAction)
        assert action.edit is not None
        assert action.edit.changes is not None
        assert [own_edit.new_text for own_edit in action.edit.changes[uri]] == ["  tags: [core]\n"]

    in_session(tmp_path, steps)


@pytest.mark.thorough
def test_diagnostics_lead_to_their_pages(tree: Path) -> None:
    """Each diagnostic has the address of the page about its code."""

    async def steps(own: Editor) -> None:
        uri = await own.open(tree / NATIVE)
        (row,) = await own.replace(uri, "half(Tensor self)", "half(Tensro self)")
        assert row.code_description is not None
        page, _, anchor = row.code_description.href.partition("#")
        assert page.endswith("/docs/diagnostics.md")
        headings = re.findall(r"(?m)^### (E0202: .*)$", (ROOT / "docs/diagnostics.md").read_text(encoding="utf-8"))
        assert [re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings] == [anchor]

    in_session(tree, steps)


@pytest.mark.thorough
def test_editors_that_ask_for_diagnostics(tree: Path) -> None:
    """An editor that pulls diagnostics gets those of the present text, and none are sent to it."""
    capabilities = lsp.ClientCapabilities(
        text_document=lsp.TextDocumentClientCapabilities(diagnostic=lsp.DiagnosticClientCapabilities())
    )

    async def steps(own: Editor) -> None:
        uri = own.send_open(tree / NATIVE)
        own.send_edit(uri, "half(Tensor self)", "half(Tensro self)")
        params = lsp.DocumentDiagnosticParams(lsp.TextDocumentIdentifier(uri))
        report = await own.client.text_document_diagnostic_async(params)
        assert isinstance(report, lsp.RelatedFullDocumentDiagnosticReport)
        assert [row.code for row in report.items] == ["E0202"]
        params.previous_result_id = report.result_id
        assert isinstance(
            await own.client.text_document_diagnostic_async(params), lsp.RelatedUnchangedDocumentDiagnosticReport
        )
        assert not own.client.diagnostics

    in_session(tree, steps, Start(capabilities=capabilities))


@pytest.mark.thorough
def test_the_server_says_what_it_can_do(tree: Path) -> None:
    """The answer to `initialize` has a provider for each request that is in the table of features."""
    assert len({feature.method for feature in FEATURES}) == len(FEATURES)

    async def steps(own: Editor) -> None:
        assert own.capabilities is not None
        providers = {
            name for name in dir(own.capabilities) if name.endswith("_provider") and getattr(own.capabilities, name)
        }
        assert providers >= {
            "code_action_provider",
            "code_lens_provider",
            "completion_provider",
            "definition_provider",
            "diagnostic_provider",
            "document_formatting_provider",
            "document_highlight_provider",
            "document_symbol_provider",
            "execute_command_provider",
            "folding_range_provider",
            "hover_provider",
            "implementation_provider",
            "inlay_hint_provider",
            "references_provider",
            "rename_provider",
            "semantic_tokens_provider",
            "signature_help_provider",
            "workspace_symbol_provider",
        }

    in_session(tree, steps)


@pytest.mark.thorough
def test_marks_in_a_library(tmp_path: Path) -> None:
    """Entries of a library have hints and lenses, too; none while it has a mistake."""
    path = tmp_path / "acme.yaml"
    path.write_text(LIBRARY)

    async def steps(own: Editor) -> None:
        uri = await own.open(path)
        document = lsp.TextDocumentIdentifier(uri)
        whole = lsp.Range(lsp.Position(0, 0), lsp.Position(9, 0))

        async def marks() -> tuple[list[object], str]:
            hints = await own.client.text_document_inlay_hint_async(lsp.InlayHintParams(document, whole))
            lenses = await own.client.text_document_code_lens_async(lsp.CodeLensParams(document))
            lens = await own.client.code_lens_resolve_async((lenses or [])[0])
            assert lens.command is not None
            return [hint.label for hint in hints or ()], lens.command.title

        assert await marks() == (["at::Tensor f(const at::Tensor & x, int64_t n)"], "1 kernel, no derivative")
        await own.replace(uri, "Tensor x", "Tensro x")
        assert await marks() == ([], "has mistakes")

    in_session(tmp_path, steps)


REQUIREMENTS = """\
namespace: acme
operators:
- func: pool(Tensor image, Tensor? bias=None, *, int[2] kernel) -> Tensor
  dispatch: {CPU: pool}
  dims: {image: "*b c h w", bias: c, return: "*b c {kernel[0]} h//2"}
  dtypes: {image: floating, bias: image}
  layout: {image: contiguous}
  requires:
  - h % 2 == 0
  linear: image
"""


@pytest.mark.thorough
def test_requirements(tmp_path: Path) -> None:
    """Fields of requirements are completed with what they may name, and say what words mean."""
    path = tmp_path / "acme.yaml"
    path.write_text(REQUIREMENTS)

    async def steps(own: Editor) -> None:
        uri = await own.open(path)

        async def offered(typed: str) -> set[str]:
            answers = await own.client.text_document_completion_async(lsp.CompletionParams(*own.at(uri, typed)))
            assert isinstance(answers, lsp.CompletionList)
            return {item.label for item in answers.items}

        assert {"b", "c", "h", "w", "kernel"} <= await offered('{image: "*b c')
        assert "kernel" in await offered("{kern")
        assert await offered("dtypes: {im") == {"image", "bias", "return"}
        assert {"floating", "bfloat16", "any", "bias"} <= await offered("dtypes: {image: fl")
        assert await offered("layout: {image: con") == {
            "any",
            "contiguous",
            "channels_last",
            "last_contiguous",
            "aligned",
        }
        assert {"h", "kernel", "promote", "broadcast", "image"} <= await offered("- h")
        assert await offered("linear: im") == {"image", "bias"}
        await own.replace(uri, "- h % 2 == 0", "- image.")
        assert {"dim", "dtype", "size"} == await offered("- image.") & {"dim", "dtype", "size", "h", "len"}
        await own.replace(uri, "- image.", "- h % 2 == 0")
        assert "`bias` has to have dtype image.dtype" in await shown(own, uri, "dtypes: {image: floating, bias", "bias")
        assert "rank 3 or more" in await shown(own, uri, "dims: {image", "image")
        assert "float16" in await shown(own, uri, "image: floating", "floating")
        assert "`*b c h w`" in await shown(own, uri, "- h %", "h")
        assert "rank 3 or more" in await shown(own, uri, "func: pool", "pool")

    in_session(tmp_path, steps)


@pytest.mark.thorough
def test_explanations_are_documents(tree: Path) -> None:
    """An editor that shows documents gets the explanation as one, which is gone after the session."""
    capabilities = lsp.ClientCapabilities(
        window=lsp.WindowClientCapabilities(show_document=lsp.ShowDocumentClientCapabilities(support=True))
    )
    shown: list[Path] = []

    async def steps(own: Editor) -> None:
        uri = await own.open(tree / NATIVE)
        params = lsp.ExecuteCommandParams(EXPLAIN, arguments=[uri, "scale.out"])
        answer = await own.client.workspace_execute_command_async(params)
        while not own.client.shown_documents:
            await asyncio.sleep(0.01)
        (document,) = own.client.shown_documents
        shown.append(Path(document.uri.removeprefix("file://")))
        assert shown[0].name == "scale.out.txt"
        assert shown[0].read_text() == answer
        assert (
            await own.client.workspace_execute_command_async(lsp.ExecuteCommandParams(EXPLAIN, arguments=[uri, "gone"]))
            is None
        )

    in_session(tree, steps, Start(capabilities=capabilities))
    assert not shown[0].parent.exists()
