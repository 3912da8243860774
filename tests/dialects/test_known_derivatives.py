"""Entries of derivatives that an earlier run loaded are not read again, and the derivatives are the same."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from functools import cache

import pytest

from opwright.dialects.derivatives.entry_rows import context_text, entry_rows
from opwright.dialects.derivatives.loader import _Loader, load
from opwright.dialects.derivatives.matching import match_derivatives
from opwright.dialects.dialect import LoadContext
from opwright.dialects.known_entries import KnownEntries
from opwright.dialects.native_functions.loader import load_catalog
from opwright.model.catalog import Catalog
from opwright.model.derivatives import Derivatives
from opwright.release.inputs import from_files
from opwright.release.rules import Rules
from opwright.release.version import parse_version
from opwright.source.diagnostic import Diagnostics
from opwright.source.items import ChangedItems, split_items
from opwright.source.nodes import Mapping
from opwright.source.text import SourceFile
from tests.conformance.inputs import input_folder
from tests.dialects.loading import TAGS
from tests.dialects.test_derivatives_reference import described
from tests.engine.project import DERIVATIVES, ENTRIES, MORE_ENTRIES

OPERATORS = ENTRIES + MORE_ENTRIES

#: Entries with everything that a row has besides what those of the project have.
MORE_DERIVATIVES = """
- name: twice(Tensor self) -> Tensor
  dispatch:
    Default:
      self: grad * 2 * self.sym_size(0)
      result: auto_element_wise
    AutogradNestedTensor:
      self: zeros_like(self) + result

- name: halves(Tensor self, int dim) -> (Tensor first, Tensor second)
  output_differentiability: [True, False]
  self: "grad_first * dim * first"
  first: self_t / 2

- name: mean_of(Tensor[] tensors, float eps=1e-6) -> Tensor
  output_differentiability: [eps != 0]
  tensors: non_differentiable
  result: tensors[0]
"""


@cache
def packaged(name: str) -> str:
    """The text of one of PyTorch's inputs."""
    return (input_folder("pytorch") / "torchgen" / "packaged" / name).read_text("utf-8")


def catalog_of(operators: str, tags: str = TAGS) -> Catalog:
    """The functions of a text."""
    sink = Diagnostics()
    catalog = load_catalog(SourceFile("native.yaml", operators), SourceFile("tags.yaml", tags), sink)
    sink.raise_if_errors()
    return catalog


def context_of(catalog: Catalog) -> LoadContext:
    """What loading derivatives of these functions may use."""
    folder = input_folder("pytorch") / "torchgen" / "packaged"
    native = folder / "ATen" / "native"
    inputs = from_files(str(native / "native_functions.yaml"), str(native / "tags.yaml"), str(folder / "autograd"))
    return LoadContext(Diagnostics(), Rules(parse_version("2.13.0")), inputs, catalog=catalog)


class Loads:
    """Loads texts, each with what loading the first one gave, and counts the entries that are read."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, catalog: Catalog, text: str) -> None:
        self.read = 0
        self.catalog = catalog
        add = _Loader.add

        def counted(loader: _Loader, node: Mapping) -> None:
            self.read += 1
            add(loader, node)

        monkeypatch.setattr(_Loader, "add", counted)
        file = SourceFile("derivatives.yaml", text)
        context = context_of(catalog)
        derivatives = load([file], context)
        context.sink.raise_if_errors()
        self.context = self.context_text(context)
        self.rows = entry_rows(file, derivatives)

    @staticmethod
    def context_text(context: LoadContext) -> str:
        """What the entries depend on."""
        return context_text(context.operators, context.rules, context.inputs, strict=context.strict)

    def load(self, file: SourceFile, known_entries: dict[str, KnownEntries] | None = None) -> tuple[object, list[str]]:
        """All facts about the derivatives of a file, and its diagnostics."""
        context = context_of(self.catalog)._replace(known_entries=known_entries or {})
        self.read = 0
        derivatives = load([file], context)
        if not context.sink.has_errors:
            match_derivatives(derivatives, self.catalog.functions, context.sink)
        return facts(derivatives), [str(diagnostic) for diagnostic in context.sink.sorted()]

    def load_changed(self, text: str) -> tuple[object, list[str]]:
        """The same of a text, of which the entries of the first text are known."""
        file = SourceFile("derivatives.yaml", text)
        items = split_items(text)
        changed = ChangedItems(file, items, [item for item in items if not self.rows.get(item[1])])
        return self.load(file, {"derivatives": KnownEntries(file, self.context, self.rows, changed)})


def facts(derivatives: Derivatives) -> object:
    """All facts about derivatives, and where they stand."""
    infos = [
        (str(function), key, described(info), [part.span[1:] for part in info.derivatives + info.forward_derivatives])
        for function, infos in derivatives.infos.items()
        for key, info in infos.items()
    ]
    return infos, derivatives.keys, derivatives.entries


@pytest.fixture
def loads(monkeypatch: pytest.MonkeyPatch) -> Loads:
    """A small file whose entries are known."""
    return Loads(monkeypatch, catalog_of(OPERATORS), DERIVATIVES + MORE_DERIVATIVES)


@pytest.fixture(scope="module")
def pytorch_catalog() -> Catalog:
    """PyTorch's functions."""
    return catalog_of(packaged("ATen/native/native_functions.yaml"), packaged("ATen/native/tags.yaml"))


def test_known_entries_are_what_they_were(monkeypatch: pytest.MonkeyPatch, pytorch_catalog: Catalog) -> None:
    """PyTorch's derivatives have all their facts and positions, though fewer than one entry in thirty is read."""
    text = packaged("autograd/derivatives.yaml")
    loads = Loads(monkeypatch, pytorch_catalog, text)
    entries = loads.read
    moved = f"# moved\n{text}"
    fresh = loads.load(SourceFile("derivatives.yaml", moved))
    assert loads.load_changed(moved) == fresh
    assert loads.read < entries / 30


def random_edit(text: str, choice: random.Random) -> str:
    """A text in which one to three entries differ: without a line, with another word, moved, repeated or taken out."""
    parts = text.split("\n- name: ")
    for _ in range(choice.randint(1, 3)):
        number = choice.randrange(1, len(parts))
        part, kind = parts[number], choice.randrange(5)
        if kind == 0:
            lines = part.split("\n")
            del lines[choice.randrange(len(lines))]
            parts[number] = "\n".join(lines)
        elif kind == 1:
            word = choice.choice(re.findall(r"\w+", part))
            parts[number] = part.replace(word, choice.choice(["grad", "self_t", "nothing", "1", "'"]), 1)
        elif kind == 2:
            parts.insert(choice.randrange(1, len(parts)), parts.pop(number))
        elif kind == 3:
            parts.insert(choice.randrange(1, len(parts)), part)
        else:
            del parts[number]
    return "\n- name: ".join(parts)


def test_random_edits_give_the_same(monkeypatch: pytest.MonkeyPatch, pytorch_catalog: Catalog) -> None:
    """After random edits of PyTorch's file, derivatives and diagnostics are those of a fresh load."""
    text = packaged("autograd/derivatives.yaml")
    loads = Loads(monkeypatch, pytorch_catalog, text)
    few = 0
    for seed in range(20):
        edited = random_edit(text, random.Random(seed))
        fresh = loads.load(SourceFile("derivatives.yaml", edited))
        assert loads.load_changed(edited) == fresh, f"seed {seed}"
        few += loads.read < 50
    assert few >= 8


EDITS = {
    "nothing": ("", ""),
    "a formula": ("self: grad * by", "self: by * grad"),
    "a formula with a fault": ("self: grad * by", "self: grad * by +"),
    "a formula with an unknown name": ("self: grad * by", "self: grad * bye"),
    "a forward formula": ("self_t * by", "by * self_t"),
    "an entry less": ("- name: alias(Tensor(a) self) -> Tensor(a)\n  self: grad\n  result: auto_linear\n", ""),
    "another function": ("- name: alias(Tensor(a) self) -> Tensor(a)", "- name: softened(Tensor self) -> Tensor"),
    "a second entry after a known one": (
        "- name: mean_of(",
        "- name: soft(Tensor self, Tensor other, float by=1.0) -> Tensor\n  self: grad\n\n- name: mean_of(",
    ),
    "a second entry before a known one": (
        "- name: shifted(",
        "- name: halves(Tensor self, int dim) -> (Tensor first, Tensor second)\n  self: grads[1]\n\n- name: shifted(",
    ),
    "no mapping": ("- name: alias(Tensor(a) self) -> Tensor(a)\n  self: grad\n", "- alias\n- self: grad\n"),
    "an open quotation": ('"grad_first * dim * first"', '"grad_first * dim * first'),
    "an anchor": ('"grad_first * dim * first"', "&formula grad_first"),
}  # fmt: skip


@pytest.mark.parametrize("edit", EDITS)
def test_edits_give_the_same_derivatives_and_faults(loads: Loads, edit: str) -> None:
    """After each edit, also one that is wrong only together with known entries, all is as if all entries were read."""
    text = DERIVATIVES + MORE_DERIVATIVES
    old, new = EDITS[edit]
    assert not old or text.count(old) == 1
    edited = text.replace(old, new) if old else text
    fresh = loads.load(SourceFile("derivatives.yaml", edited))
    everything = loads.read
    assert loads.load_changed(edited) == fresh
    if edit in ("nothing", "a formula", "a formula with a fault", "a formula with an unknown name", "an entry less"):
        assert loads.read < everything / 2


OPERATOR_EDITS = {
    "another default": (
        "- func: shifted(Tensor self, Tensor other, *, Scalar alpha=1",
        "- func: shifted(Tensor self, Tensor other, *, Scalar alpha=2",
    ),
    "a method only": (
        "- func: alias(Tensor(a) self) -> Tensor(a)\n  variants: function, method",
        "- func: alias(Tensor(a) self) -> Tensor(a)\n  variants: method",
    ),
    "a name": ("- func: softened(", "- func: hardened("),
    "an entry less": ("- func: softened(Tensor self) -> Tensor\n  python_module: nn\n", ""),
}  # fmt: skip


@pytest.mark.parametrize("edit", OPERATOR_EDITS)
def test_edits_of_operators_give_the_same(loads: Loads, edit: str) -> None:
    """Rows do not hide that the function of an entry changed, or that names in formulas mean something else."""
    old, new = OPERATOR_EDITS[edit]
    assert OPERATORS.count(old) == 1
    loads.catalog = catalog_of(OPERATORS.replace(old, new))
    text = DERIVATIVES + MORE_DERIVATIVES
    fresh = loads.load(SourceFile("derivatives.yaml", text))
    assert loads.load_changed(text) == fresh


def test_entries_with_warnings_are_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run reports the warnings of entries that did not change."""
    text = DERIVATIVES.replace("grad * by", "grad * bye")
    loads = Loads(monkeypatch, catalog_of(OPERATORS), text)
    fresh = loads.load(SourceFile("derivatives.yaml", text))
    assert fresh[1]
    assert loads.load_changed(text) == fresh
    assert loads.read == 1


FORGED: dict[str, Callable[[str], str]] = {
    "nothing": lambda _: "x",
    "another function": lambda row: row.replace("soft(", "sift("),
    "another variant": lambda row: row.replace("\x1c1\x1c", "\x1c0\x1c"),
    "no number": lambda row: row.replace("\x1e2\x1d", "\x1etwo\x1d"),
    "an argument that it has not": lambda row: row.replace("\x1f1\x1e", "\x1f9\x1e"),
    "fewer fields": lambda row: row.replace("\x1e", "\x1f", 1),
    "an unknown fact": lambda row: row.replace("VALUE", "VALUES"),
    "no span": lambda row: row.replace("\x1f", ""),
}


@pytest.mark.parametrize("forged", FORGED)
def test_rows_that_no_run_wrote_are_not_used(loads: Loads, forged: str) -> None:
    """A row of another form makes the run read all entries."""
    text = next(text for text in loads.rows if text.startswith("name: soft("))
    sound = loads.rows[text]
    loads.rows[text] = FORGED[forged](sound)
    assert loads.rows[text] != sound
    whole = DERIVATIVES + MORE_DERIVATIVES
    fresh = loads.load(SourceFile("derivatives.yaml", whole))
    everything = loads.read
    assert loads.load_changed(whole) == fresh
    assert loads.read == everything


def test_texts_with_separators_are_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """A formula with a character that separates the parts of a row has no row."""
    text = DERIVATIVES.replace("self: grad * by", 'self: "grad * by /* \\x1e */"')
    loads = Loads(monkeypatch, catalog_of(OPERATORS), text)
    assert [bool(row) for row in loads.rows.values()] == [False, True, True]
    assert loads.load_changed(text) == loads.load(SourceFile("derivatives.yaml", text))
