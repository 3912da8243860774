"""Edits of YAML change what they are about and nothing else, as PyYAML reads the text before and after."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from itertools import pairwise

import pytest
import yaml

from opwright.source.diagnostic import Diagnostic, Edit, Severity
from opwright.source.nodes import MappingNode, Node, Scalar, SequenceNode
from opwright.source.span import SourceText
from opwright.source.text import SourceFile
from opwright.source.yaml import load_yaml
from opwright.workspace.edits import (
    Edits,
    added_field,
    apply_edits,
    deleted_field,
    deleted_item,
    edits_of_file,
    find_path,
    line_edits,
    quotation,
    replacement,
)

DATA = [
    {"func": "f(Tensor x) -> Tensor", "tags": ["core", "pointwise"], "dispatch": {"CPU": "f", "CUDA": "g"}},
    {"func": "g", "variants": "method", "nested": [{"a": 1, "b": [2, 3]}, {"c": "4"}]},
    ["x", ["y", "z"], {"last": True, "more": None}],
]
LAYOUTS = {
    "block": yaml.safe_dump(DATA, sort_keys=False, width=200),
    "flow": yaml.safe_dump(DATA, sort_keys=False, width=200, default_flow_style=True),
    "mixed": yaml.safe_dump(DATA, sort_keys=False, width=200, default_flow_style=None),
    "deep": yaml.safe_dump(DATA, sort_keys=False, width=200, indent=4),
    "windows": yaml.safe_dump(DATA, sort_keys=False, width=200).replace("\n", "\r\n"),
    "open": yaml.safe_dump(DATA, sort_keys=False, width=200).rstrip("\n"),
}

Place = tuple[str | int, ...]


def nodes(node: Node, place: Place = ()) -> Iterator[tuple[Place, Node]]:
    """All nodes of a tree with their places, as indices and keys."""
    yield place, node
    if isinstance(node, MappingNode):
        for key, value in node.entries:
            yield from nodes(value, (*place, key.value))
    elif isinstance(node, SequenceNode):
        for index, item in enumerate(node.items):
            yield from nodes(item, (*place, index))


def at(data: object, place: Place) -> object:
    """The part of data at a place."""
    for step in place:
        data = data[step]  # type: ignore[index]
    return data


def check(text: str, edits: Edits, expected: object) -> bool:
    """A test fails if edits make other data than expected. Tells whether there are edits."""
    if edits:
        assert yaml.safe_load(apply_edits(text, edits)) == expected
    return bool(edits)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_deletions_leave_the_rest(layout: str) -> None:
    """A key or an item goes, if it is not the only one; nearly all of them can."""
    text = LAYOUTS[layout]
    done, kept = 0, 0
    for place, node in nodes(load_yaml(SourceFile("f.yaml", text))):
        if isinstance(node, MappingNode):
            edits = {key.value: deleted_field(node, key) for key, _ in node.entries}
        elif isinstance(node, SequenceNode):
            edits = {str(index): deleted_item(node, item) for index, item in enumerate(node.items)}
        else:
            continue
        for name, own in edits.items():
            rest = copy.deepcopy(DATA)
            part = at(rest, place)
            del part[int(name) if isinstance(part, list) else name]  # type: ignore[attr-defined]
            if check(text, own, rest):
                done += 1
            else:
                kept += len(edits) > 1
        assert len(edits) > 1 or not any(edits.values())
    assert done >= 20
    # In `- - y`, the dash before an item is not its own.
    assert kept <= 2


@pytest.mark.parametrize("layout", LAYOUTS)
def test_fields_are_added_and_set(layout: str) -> None:
    """A field that a mapping has gets a value if it is on one line; another one is added."""
    text = LAYOUTS[layout]
    for place, node in nodes(load_yaml(SourceFile("f.yaml", text))):
        if not isinstance(node, MappingNode):
            continue
        for field in ("new", *[key.value for key, value in node.entries]):
            changed = copy.deepcopy(DATA)
            at(changed, place)[field] = "value"  # type: ignore[index]
            is_expected = field == "new" or isinstance(node.get(field), Scalar)
            if isinstance(node.entries[0][1], Scalar) or text[node.start] == "{":
                assert check(text, added_field(node, field, "value"), changed) == is_expected


@pytest.mark.parametrize("layout", LAYOUTS)
def test_scalars_are_replaced_and_quoted(layout: str) -> None:
    """A scalar gets another text, or quotes, which make a text of it."""
    text = LAYOUTS[layout]
    for place, node in nodes(load_yaml(SourceFile("f.yaml", text))):
        replaced, quoted = copy.deepcopy(DATA), copy.deepcopy(DATA)
        if not isinstance(node, Scalar):
            assert replacement(node, "value") == ()
            continue
        for data, value in ((replaced, "value"), (quoted, node.value)):
            at(data, place[:-1])[place[-1]] = value  # type: ignore[index]
        assert check(text, replacement(node, "value"), replaced)
        assert check(text, quotation(node), quoted) == (not node.style)


@pytest.mark.parametrize(
    "text",
    ["- a # why\n- b\n", "{a: 1, # why\n b: 2}\n", "a: |\n  text\nb: 2\n", "a: 'it''s'\nb: \"c\\n\"\n", "? a\n: 1\n"],
)
def test_what_would_lose_something_stays(text: str) -> None:
    """Comments are not deleted, blocks are not replaced, and quotes are not doubled."""
    tree = load_yaml(SourceFile("f.yaml", text))
    if isinstance(tree, SequenceNode):
        assert deleted_item(tree, tree.items[0]) == ()
        assert deleted_item(tree, Scalar(tree.file, 0, 1, "other", kind="str")) == ()
    else:
        assert isinstance(tree, MappingNode)
        key, value = tree.entries[0]
        assert "|" not in text or replacement(value, "x") == added_field(tree, "new", "x") == ()
        assert "#" not in text or deleted_field(tree, key) == ()
        assert quotation(value) == () or "'" not in text
        assert deleted_field(tree, Scalar(tree.file, 0, 1, "other", kind="str")) == ()


def test_paths_lead_to_the_smallest_node() -> None:
    """Each scalar, and each key, is found by its span, with all nodes around it."""
    tree = load_yaml(SourceFile("f.yaml", LAYOUTS["block"]))
    for _, node in nodes(tree):
        path = find_path(tree, node.span)
        assert path[0] is tree
        assert node in path
        assert all(outer.start <= inner.start and inner.end <= outer.end for outer, inner in pairwise(path))
        if isinstance(node, Scalar):
            assert path[-1] is node


@pytest.mark.parametrize("new", ["", "a\nb\nc\n", "b\nx\nd\n", "x\ny\na\nb\nc\nd", "a\nb\nc\nd\ne\n"])
def test_edits_of_lines_make_the_new_text(new: str) -> None:
    """The edits are of whole lines, and together they make the other text."""
    file = SourceText("f.txt", "a\nb\nc\nd\n")
    edits = list(line_edits(file, new))
    assert apply_edits(file.text, edits) == new
    assert all(file.line_and_column(offset)[1] == 1 for edit in edits for offset in (edit.span.start, edit.span.end))


FILE = SourceFile("f.txt", "0123456789")
OTHER = SourceFile("g.txt", "0123456789")


def diagnostic(*spans: tuple[int, int], file: SourceFile = FILE) -> Diagnostic:
    """A diagnostic with edits of these places."""
    edits = tuple(Edit(file.span(start, end), "x") for start, end in spans)
    return Diagnostic("E0001", Severity.ERROR, "m", edits=edits)


@pytest.mark.parametrize(
    ("given", "chosen", "count"),
    [
        ([diagnostic((4, 6)), diagnostic((0, 2))], [(0, 2), (4, 6)], 2),
        ([diagnostic((0, 2)), diagnostic((1, 3))], [(0, 2)], 1),
        ([diagnostic((0, 2)), diagnostic((2, 3))], [(0, 2), (2, 3)], 2),
        ([diagnostic((2, 2)), diagnostic((2, 2), (5, 6))], [(2, 2)], 1),
        ([diagnostic((0, 2)), diagnostic((0, 2))], [(0, 2)], 2),
        ([diagnostic((0, 2), (8, 9)), diagnostic((4, 5), (8, 9))], [(0, 2), (8, 9)], 1),
        ([diagnostic((2, 4)), diagnostic((0, 3)), diagnostic((3, 5)), diagnostic((1, 8))], [(2, 4)], 1),
        ([diagnostic(), diagnostic((0, 1), file=OTHER)], [], 0),
    ],
)
def test_edits_that_overlap_wait(given: list[Diagnostic], chosen: list[tuple[int, int]], count: int) -> None:
    """Edits of one diagnostic are applied together, and not with others of the same characters."""
    edits, fixed = edits_of_file(given, "f.txt")
    assert ([(edit.span.start, edit.span.end) for edit in edits], fixed) == (chosen, count)
    mixed = Diagnostic("E0001", Severity.ERROR, "m", edits=(Edit(FILE.span(0), ""), Edit(OTHER.span(0), "")))
    assert edits_of_file([mixed], "f.txt") == ([], 0)
