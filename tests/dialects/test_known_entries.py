"""Entries that an earlier run loaded are not read again, and the catalog is the same."""

from __future__ import annotations

import json

import pytest

from opwright.dialects.known_entries import KnownEntries
from opwright.dialects.native_functions import loader
from opwright.dialects.native_functions.entry import load_entry
from opwright.dialects.native_functions.entry_rows import context_text, entry_rows
from opwright.dialects.native_functions.loader import load_catalog
from opwright.model.catalog import Catalog
from opwright.model.dispatch_key import DispatchKey, key_named
from opwright.source.diagnostic import Diagnostics
from opwright.source.items import changed_items
from opwright.source.text import SourceFile
from tests.dialects.loading import TAGS, found_faults
from tests.dialects.ours import facts
from tests.dialects.test_reference import IGNORED, pytorch_file
from tests.engine.project import ENTRIES, MORE_ENTRIES

OPERATORS = ENTRIES + MORE_ENTRIES

Loaded = tuple[Catalog, Diagnostics]


class Loads:
    """Loads texts, each with what loading the first one gave, and counts the entries that are read."""

    def __init__(
        self,
        monkeypatch: pytest.MonkeyPatch,
        text: str,
        tags: str = TAGS,
        ignored: frozenset[DispatchKey] = frozenset(),
    ) -> None:
        self.tags = SourceFile("tags.yaml", tags)
        self.ignored = ignored
        self.read = 0

        def counted(*arguments: object) -> object:
            self.read += 1
            return load_entry(*arguments)  # type: ignore[arg-type]

        monkeypatch.setattr(loader, "load_entry", counted)
        file = SourceFile("native.yaml", text)
        catalog, sink = self.load(file)
        sink.raise_if_errors()
        self.context = context_text(catalog.tags, ignored)
        self.rows = entry_rows(file, catalog.functions)

    def load(self, file: SourceFile, known_entries: KnownEntries | None = None) -> Loaded:
        """The catalog of a file, and its faults."""
        sink = Diagnostics()
        self.read = 0
        return load_catalog(known_entries or file, self.tags, sink, ignored_keys=self.ignored), sink

    def load_changed(self, text: str) -> Loaded:
        """The same of a text, of which the entries of the first text are known."""
        file = SourceFile("native.yaml", text)
        items = changed_items(file, self.rows)
        assert items is not None
        return self.load(file, KnownEntries(file, self.context, self.rows, items))


@pytest.fixture
def loads(monkeypatch: pytest.MonkeyPatch) -> Loads:
    """A small file whose entries are known."""
    return Loads(monkeypatch, OPERATORS)


def described(catalog: Catalog) -> object:
    """All facts about the functions of a catalog, and where they stand."""
    attributes = [
        (function.entry[1:], function.needs_derivative, function.style, function.is_view, str(function.library))
        for function in catalog.functions
    ]
    return json.dumps(facts(catalog)), attributes


@pytest.mark.parametrize("ignored", [(), IGNORED], ids=["all keys", "some keys"])
def test_known_entries_are_what_they_were(monkeypatch: pytest.MonkeyPatch, ignored: tuple[str, ...]) -> None:
    """PyTorch's operators have all their facts and positions, though fewer than one entry in two hundred is read."""
    native, tags = (pytorch_file(name).read_text("utf-8") for name in ("native_functions.yaml", "tags.yaml"))
    loads = Loads(monkeypatch, native, tags, frozenset(map(key_named, ignored)))
    entries = loads.read
    moved = f"# moved\n{native}"
    fresh = described(loads.load(SourceFile("native.yaml", moved))[0])
    assert described(loads.load_changed(moved)[0]) == fresh
    assert 0 < loads.read < entries / 200


ALIAS = OPERATORS[OPERATORS.index("- func: alias(") : OPERATORS.index("- func: alias_copy")]
EDITS = {
    "nothing": ("", ""),
    "a new entry": ("- func: rows(", "- func: new(Tensor self) -> Tensor\n\n- func: rows("),
    "a change": ("eps=1e-6", "eps=1e-5"),
    "an entry less": (ALIAS, ""),
    "a fault in an entry": ("eps=1e-6", "eps=1e-6,"),
    "an unknown tag": ("  tags: view_copy\n  autogen: rows_copy.out", "  tags: view_copi\n  autogen: rows_copy.out"),
    "an entry that is no mapping": ("- func: mean_of(Tensor[] tensors, float eps=1e-6) -> Tensor", "- mean_of"),
    "a second entry for a name": ("- func: mean_of(Tensor[] tensors", "- func: softened(Tensor[] tensors"),
    "a delegate that is gone": ("- func: twice.out(", "- func: twine.out("),
    "a group that no longer matches": ("- func: twice(Tensor self)", "- func: twice(Tensor self, int by)"),
    "an open quotation": ("  python_module: nn", "  python_module: 'nn"),
    "an open bracket": ("  python_module: nn", "  python_module: [nn"),
    "an anchor": ("  python_module: nn", "  python_module: &nn nn"),
    "an alias of nothing": ("  python_module: nn", "  python_module: *nn"),
    "a second document": ("- func: softened", "---\n- func: softened"),
    "no YAML": ("- func: softened", "\t- func: softened"),
}  # fmt: skip


@pytest.mark.parametrize("edit", EDITS)
def test_edits_give_the_same_catalog_and_faults(loads: Loads, edit: str) -> None:
    """After each edit, also one that is wrong only together with known entries, all is as if all entries were read."""
    old, new = EDITS[edit]
    assert not old or OPERATORS.count(old) == 1
    edited = OPERATORS.replace(old, new) if old else OPERATORS
    fresh, faults = loads.load(SourceFile("native.yaml", edited))
    everything = loads.read
    catalog, known_faults = loads.load_changed(edited)
    assert known_faults.sorted() == faults.sorted() or found_faults(known_faults) == found_faults(faults)
    assert [fault.message for fault in known_faults.sorted()] == [fault.message for fault in faults.sorted()]
    assert described(catalog) == described(fresh)
    assert catalog.is_sound == fresh.is_sound
    if edit in ("nothing", "a new entry", "a change", "a fault in an entry", "a group that no longer matches"):
        assert loads.read < everything / 2


FORGED = {
    "nothing": "x",
    "fewer fields": "40|3",
    "no number": "a|3||||||||",
    "unknown key": "40|3||||||NoKey f||",
    "no kernel": "40|3||||||CPU||",
    "a path": "40|3||../x||||||",
    "a delegate that is no name": "40|3||a b||||||",
    "a huge number": f"{'9' * 5000}|3||||||||",
    "more fields": "40|3|||||||||",
}


@pytest.mark.parametrize("forged", FORGED)
def test_rows_that_no_run_wrote_are_not_used(loads: Loads, forged: str) -> None:
    """A row of another form makes the run read all entries."""
    text = next(text for text in loads.rows if text.startswith("func: mean_of("))
    loads.rows[text] = FORGED[forged]
    fresh = described(loads.load(SourceFile("native.yaml", OPERATORS))[0])
    everything = loads.read
    assert described(loads.load_changed(OPERATORS)[0]) == fresh
    assert loads.read == everything


@pytest.mark.parametrize("text", ["no entry", "func: ../x(Tensor self) -> Tensor", "func: f("])
def test_a_row_makes_no_entry_of_a_text_that_is_none(loads: Loads, text: str) -> None:
    """A row for a text without a schema does not hide the fault of the text."""
    loads.rows[text] = "40|3||||||||"
    edited = f"{OPERATORS}\n- {text}"
    faults = found_faults(loads.load(SourceFile("native.yaml", edited))[1])
    assert faults
    assert found_faults(loads.load_changed(edited)[1]) == faults


def test_rows_of_another_context_are_not_used(loads: Loads) -> None:
    """With another tag in `tags.yaml`, or other dispatch keys left out, all entries are read."""
    everything = Loads.load(loads, SourceFile("native.yaml", OPERATORS))[0]
    count = loads.read
    loads.tags = SourceFile("tags.yaml", f"{TAGS}- tag: more\n  desc: Another.\n")
    loads.load_changed(OPERATORS)
    assert loads.read == count
    loads.tags = SourceFile("tags.yaml", TAGS)
    loads.ignored = frozenset((key_named("CUDA"),))
    catalog = loads.load_changed(OPERATORS)[0]
    assert loads.read == count
    assert described(catalog) != described(everything)
