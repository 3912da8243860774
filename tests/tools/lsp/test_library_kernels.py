"""What an editor is told of the kernels in `dispatch` of a library file: lists, conditions, Python functions."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from lsprotocol import types as lsp

from opwright.release.inputs import from_installed
from opwright.source.text import SourceFile
from opwright.tools.lsp.completion import completions_at
from opwright.tools.lsp.hover import hover_at
from opwright.tools.lsp.navigation import definitions_at, references_at, symbols_in
from opwright.tools.lsp.project import Project
from opwright.tools.lsp.rename import rename_argument
from opwright.workspace.edits import apply_edits
from tests.tools.lsp.session import editor

_LIBRARY = """\
namespace: acme
operators:
- func: attend(Tensor q, Tensor weight, int head_dim) -> Tensor
  outputs: like(q)
  dispatch:
    CUDA:
    - {kernel: fast, when: "weight.is_contiguous() && head_dim <= 128", priority: 2}
    - kernel: other::wide
      when: head_dim > 256 && weight.size(head_dim) == q.head_dim
    - slow
    CPU: {python: "acme.kernels:attend"}
- func: scale(Tensor self, float by) -> Tensor
  outputs: like(self)
  dispatch: CPU, CUDA
"""
_SOURCES = {
    "setup.py": "",
    "csrc/attend.cu": """\
#include "attend.h"
// at::Tensor fast() { comments define nothing }
namespace acme::native {
at::Tensor slow(const at::Tensor& q, const at::Tensor& weight, int64_t head_dim) {
  if (head_dim) { return fast(q, weight, 0); }
  return q;
}
at::Tensor fast(const at::Tensor& q, const at::Tensor& weight, int64_t head_dim) { return slow(q, weight, 1); }
}
namespace unrelated {
at::Tensor wide(const at::Tensor& q) { return q; }
}
""",
    "csrc/attend.h": "namespace other { at::Tensor wide(const at::Tensor& q, const at::Tensor& weight, int64_t d); }\n",
    "acme/kernels.py": "import torch\n\n\ndef attend(q, weight, head_dim):\n    return q\n",
    "build/attend.cpp": "at::Tensor fast(const at::Tensor& q) { return q; }\n",
}


class _Files:
    """The library in a folder of its own, opened in an editor."""

    def __init__(self, folder: Path, text: str = _LIBRARY) -> None:
        for name, source in _SOURCES.items():
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text(source)
        self.path = folder / "acme.yaml"
        self.path.write_text(text)
        self.project = Project(from_installed)
        self.file = self.open(text)

    def open(self, text: str) -> SourceFile:
        return self.project.put(str(self.path), text)

    def hover(self, context: str, word: str) -> str:
        answer = hover_at(self.project, self.file, self.at(context, word))
        return "" if answer is None else answer.markdown

    def definitions(self, context: str, word: str) -> list[str]:
        places = definitions_at(self.project, self.file, self.at(context, word))
        return [f"{Path(place.file.path).name}:{place.line}: {place.text}" for place in places]

    def offered(self, text: str) -> set[str]:
        file = self.open(text)
        return {answer.text for answer in completions_at(self.project, file, len(text))}

    def at(self, context: str, word: str) -> int:
        return self.file.text.index(context) + context.index(word) + 1


@pytest.fixture
def files(tmp_path: Path) -> _Files:
    """The library with its sources."""
    return _Files(tmp_path)


def test_hover_shows_the_kernel_and_not_its_caller(files: _Files) -> None:
    """Of a kernel with the name of its operator, the signature is that of the kernel, without defaults."""
    text = "namespace: acme\noperators:\n- func: f(Tensor x, float scale=1.0) -> Tensor\n  dispatch: {CPU: f}\n"
    files.file = files.open(text)
    shown = files.hover("CPU: f}", "f}")
    assert "at::Tensor acme::native::f(const at::Tensor & x, double scale)" in shown


def test_hover_shows_what_kernels_serve(files: _Files) -> None:
    """A kernel of a list has its condition, its C++ signature, and the kernels beside it in their order."""
    shown = files.hover("kernel: fast", "fast")
    assert shown.startswith("kernel of `attend` for CUDA, when `weight.is_contiguous() && head_dim <= 128`")
    assert "at::Tensor acme::native::fast(const at::Tensor & q" in shown
    assert shown.index("    fast") < shown.index("    wide") < shown.index("    slow  always")
    assert "at::Tensor other::wide(" in files.hover("kernel: other::wide", "wide")
    assert files.hover("- slow", "slow").startswith("kernel of `attend` for CUDA\n")
    assert files.hover("acme.kernels:attend", "acme").startswith("Python function of `attend` for CPU")
    assert files.hover("acme.kernels:attend", ":attend").startswith("Python function of `attend` for CPU")


def test_hover_shows_the_table_of_an_operator(files: _Files) -> None:
    """An operator of a library has its schema, and the tables that `opwright explain` prints."""
    shown = files.hover("func: attend", "attend")
    assert "attend(Tensor q, Tensor weight, int head_dim) -> Tensor" in shown
    assert "  CPU               acme.kernels:attend" in shown
    assert "    fast    when weight.is_contiguous() && head_dim <= 128; priority 2" in shown


@pytest.mark.parametrize(
    ("context", "word", "text"),
    [
        ("{kernel: fast", "kernel", "**kernel**: The C++ function."),
        (" priority: 2", "priority", "tried first"),
        ("python: ", "python", "**python**: The Python function in its place"),
        ("      when: head", "when", "The kernel serves the calls for which it holds"),
        ("    CUDA:", "CUDA", "dispatch key **CUDA**"),
    ],
)
def test_hover_explains_fields_of_kernels(files: _Files, context: str, word: str, text: str) -> None:
    """The fields of an item of a list, and dispatch keys, are explained in block and in flow style."""
    assert text in files.hover(context, word)


def test_hover_of_a_library_with_mistakes(tmp_path: Path) -> None:
    """A kernel is still shown if no signature can be had, because another entry has a mistake."""
    files = _Files(tmp_path, _LIBRARY.replace("scale(Tensor self", "scale(Tensro self"))
    assert files.hover("kernel: fast", "fast").startswith("kernel of `attend` for CUDA, when")
    assert "scale(Tensro self" in files.hover("func: scale", "scale")


def test_hover_of_a_stable_library(tmp_path: Path) -> None:
    """The signature of a kernel is the one that its interface has."""
    text = _LIBRARY.replace("namespace: acme\n", "namespace: acme\nabi: stable\n")
    files = _Files(
        tmp_path, text.replace("weight.is_contiguous() && ", "").replace(" && weight", "").split("- func: s")[0]
    )
    assert "torch::stable::Tensor acme::native::slow(const torch::stable::Tensor & q" in files.hover("- slow", "slow")


def test_definitions_are_in_the_sources(files: _Files) -> None:
    """Kernels lead to where C++ defines them, else to a declaration; Python functions to their `def`."""
    assert files.definitions("kernel: fast", "fast") == ["attend.cu:8: fast"]
    assert files.definitions("- slow", "slow") == ["attend.cu:4: slow"]
    assert files.definitions("kernel: other::wide", "wide") == ["attend.h:1: wide"]
    assert files.definitions("acme.kernels:attend", "acme") == ["kernels.py:4: attend"]
    assert files.definitions("acme.kernels:attend", ":attend") == ["kernels.py:4: attend"]


def test_kernels_are_no_references(tmp_path: Path) -> None:
    """A kernel in a list is no reference to the operator that has its name."""
    files = _Files(tmp_path, _LIBRARY.replace("- slow", "- scale"))
    places = references_at(files.project, files.file, files.at("func: scale", "scale"))
    assert [place.line for place in places if place.file.path == str(files.path)] == [12]


_FIELDS = {"kernel", "python", "when", "if", "priority"}
_BEGINNING = "namespace: acme\noperators:\n- func: f(Tensor x, int[] size) -> Tensor\n  dispatch:\n    CUDA:"


@pytest.mark.parametrize("end", ["\n    - {ker", "\n    - ker", "\n    - kernel: a\n      pri", " [{kernel: a, wh"])
def test_fields_of_kernels_are_completed(files: _Files, end: str) -> None:
    """The fields of an item are offered in both styles, also in an entry of a section."""
    assert files.offered(_BEGINNING + end) == _FIELDS
    below = (_BEGINNING + end).replace("\n", "\n  ").replace("\n  operators:", "\noperators:\n- if: A\n  operators:")
    assert files.offered(below) == _FIELDS


@pytest.mark.parametrize("end", ['\n    - {kernel: a, when: "x.dim() == si', "\n    - kernel: a\n      when: "])
def test_arguments_are_completed_in_conditions(files: _Files, end: str) -> None:
    """`when` is an expression over the arguments."""
    assert files.offered(_BEGINNING + end) == {"x", "size"}


def test_renames_reach_conditions(files: _Files) -> None:
    """An argument is renamed in the conditions of kernels, where it is no member and no function."""
    edits = rename_argument(files.project, files.file, files.at("int head_dim", "head_dim"), "width")
    expected = _LIBRARY.replace("head_dim", "width").replace("q.width", "q.head_dim")
    assert apply_edits(_LIBRARY, list(edits)) == expected


def test_symbols_have_kernels(files: _Files) -> None:
    """The symbol of an operator has the kernels that its entry names; a file that is being written has none."""
    attend, scale = symbols_in(files.file)
    assert [(kernel.name, kernel.keys) for kernel in attend.kernels] == [
        ("fast", "CUDA"),
        ("other::wide", "CUDA"),
        ("slow", "CUDA"),
        ("acme.kernels:attend", "CPU"),
    ]
    assert not scale.kernels
    assert [symbol.kernels for symbol in symbols_in(files.open(_LIBRARY + "  samples: ["))] == [(), ()]


@pytest.mark.thorough
def test_an_editor_shows_kernels(files: _Files) -> None:
    """The server answers with kernels below operators, and finds the function of one."""

    async def session() -> None:
        async with editor(files.path.parent) as own:
            uri = await own.open(files.path)
            document = lsp.TextDocumentIdentifier(uri)
            symbols = await own.client.text_document_document_symbol_async(lsp.DocumentSymbolParams(document))
            assert symbols is not None
            attend = symbols[0]
            assert isinstance(attend, lsp.DocumentSymbol)
            shown = [(kernel.name, kernel.detail) for kernel in attend.children or ()]
            assert shown[0] == ("fast", "CUDA, when weight.is_contiguous() && head_dim <= 128")
            assert shown[2] == ("slow", "CUDA")
            places = await own.client.text_document_definition_async(
                lsp.DefinitionParams(*own.at(uri, "- slow", "slow"))
            )
            assert isinstance(places, list)
            assert [str(place.uri).rpartition("/")[2] for place in places if isinstance(place, lsp.Location)] == [
                "attend.cu"
            ]

    asyncio.run(asyncio.wait_for(session(), 120))
