"""Inputs made from others: texts of a user in place of theirs, and inputs that are left out."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
import yaml

from opwright.release.inputs import from_source_path
from opwright.source.diagnostic import Fault
from opwright.source.text import SourceFile
from opwright.workspace.overlay import RecordedInputs, narrow_text, with_texts
from tests.release.fake_torch import INPUT_NAMES, NATIVE, write_source_tree

TAGS = "native/tags.yaml"
FORMULAS = "autograd/derivatives.yaml"
ADDED = "native/added.yaml"


def test_texts_replace_and_hidden_inputs_are_missing(tmp_path: Path) -> None:
    """Each way to ask for an input agrees: its name, text, place and digest; other inputs and members stay."""
    tree = from_source_path(write_source_tree(tmp_path))
    texts = {TAGS: SourceFile("mine.yaml", "- tag: mine\n"), ADDED: SourceFile("added.yaml", "[]\n")}
    own = with_texts(tree, texts, hidden=frozenset([FORMULAS]))
    assert own.names() == tuple(sorted({*INPUT_NAMES, ADDED} - {FORMULAS}))
    assert [own.read_text(name) for name in texts] == list(texts.values())
    assert [own.display_path(name) for name in (TAGS, NATIVE)] == ["mine.yaml", tree.display_path(NATIVE)]
    with pytest.raises(Fault) as caught:
        own.read_text(FORMULAS)
    assert caught.value.diagnostic.code == "E0514"
    assert own.read_optional(FORMULAS) is None
    assert own.read_text(NATIVE).text == tree.read_text(NATIVE).text
    assert own.read_member("version.txt") == tree.read_member("version.txt")
    assert own.member_names("tools/") == tree.member_names("tools/") != ()
    assert (own.origin, own.version_text) == (tree.origin, tree.version_text)
    # What a run wrote for these is not up to date for the files on disk.
    assert own.paths() is None
    assert own.digest != tree.digest
    same = {name: tree.read_text(name) for name in INPUT_NAMES}
    assert with_texts(tree, same).digest == tree.digest
    assert with_texts(tree, {}) is tree


def items_of(text: str) -> list[tuple[int, str]]:
    """The line and the value of each item, as PyYAML reads a list."""
    node = yaml.compose(text)
    assert isinstance(node, yaml.SequenceNode)
    return [(item.start_mark.line, yaml.serialize(item)) for item in node.value]


@pytest.mark.parametrize("chosen", [number for count in range(4) for number in itertools.combinations(range(3), count)])
def test_narrowed_files_keep_the_lines_of_items(chosen: tuple[int, ...]) -> None:
    """What is left of a list is on the lines where it was."""
    text = "# Operators.\n\n- a: 0\n  b: 2\n\n- a: 1\n- a: 2\n"
    narrow = narrow_text(SourceFile("f.yaml", text), lambda item: int(item[3]) in chosen)
    assert items_of(narrow.text) == [items_of(text)[number] for number in chosen]
    assert narrow.path == "f.yaml"


def test_a_text_that_is_no_list_stays_whole() -> None:
    """A file whose items cannot be told apart keeps all of them."""
    mapping = SourceFile("f.yaml", "a: 1\n")
    assert narrow_text(mapping, lambda _: False) is mapping


def test_reads_are_recorded(tmp_path: Path) -> None:
    """Texts and members that were asked for are noted, also missing ones."""
    tree = from_source_path(write_source_tree(tmp_path))
    recorded = RecordedInputs(tree)
    assert recorded.read_text(TAGS).text == tree.read_text(TAGS).text
    assert recorded.read_optional("native/no.yaml") is None
    assert recorded.read_member("version.txt") == b"2.13.0a0+git12ab\n"
    assert recorded.read_members(["tools/autograd/deprecated.yaml"]).keys() == {"tools/autograd/deprecated.yaml"}
    assert recorded.reads == {TAGS, "native/no.yaml", "version.txt", "tools/autograd/deprecated.yaml"}
    assert (recorded.origin, recorded.version_text) == (tree.origin, tree.version_text)
