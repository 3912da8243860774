"""Every character of a scalar's value maps back to its raw characters, in each style."""

from __future__ import annotations

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from opwright.source.nodes import MappingNode, Node, Scalar, SequenceNode
from opwright.source.text import SourceFile
from opwright.source.yaml import load_yaml

STYLES = ["", "'", '"', "|", ">"]
TEXTS = st.text(st.sampled_from("aZ09 \n\t'\"\\:#-é中😀\x85\u2028\x07"), max_size=40) | st.text(max_size=40)


def scalars(node: Node) -> list[Scalar]:
    """All scalars under a node."""
    if isinstance(node, Scalar):
        return [node]
    if isinstance(node, SequenceNode):
        return [scalar for item in node.items for scalar in scalars(item)]
    return [scalar for key, value in node.entries for scalar in (key, *scalars(value))]


def assert_maps_back(scalar: Scalar) -> None:
    """Checks each character's raw text by reading it in the scalar's style, and that the spans are in order."""
    last = scalar.start
    for index, character in enumerate(scalar.value):
        span = scalar.span_of(index, index + 1)
        assert last <= span.start <= span.end
        last = span.end
        raw = span.text
        if raw == character:
            continue
        if scalar.style == '"' and raw.startswith("\\"):
            assert yaml.safe_load(f'"{raw}"') == character
        elif raw == "''":
            assert (character, scalar.style) == ("'", "'")
        else:
            assert raw.strip(" \t\r\n\x85") == ""
            assert character in " \n"


def assert_like_pyyaml(text: str) -> None:
    """Checks the values against `yaml.safe_load`, and the spans."""
    root = load_yaml(SourceFile("t.yaml", text))
    assert root.python_value() == yaml.safe_load(text)
    for scalar in scalars(root):
        assert_maps_back(scalar)


@given(TEXTS, st.sampled_from(STYLES), st.integers(10, 80), st.booleans())
def test_dumped_text_maps_back(value: str, style: str, width: int, unicode: bool) -> None:
    """Any text that PyYAML writes, in any style and width, reads as the same value and maps back."""
    data = {"first": [value], "second": value}
    text = yaml.dump(data, default_style=style or None, width=width, allow_unicode=unicode)
    assert_like_pyyaml(text)


@given(TEXTS, st.sampled_from(["\n", "\r\n", "\r"]), st.sampled_from(["|", "|-", "|+", "|2", ">", ">-", ">+", ">2-"]))
def test_block_text_maps_back(value: str, line_break: str, header: str) -> None:
    """Block scalars written by hand, with any header and line break, read as PyYAML reads them or not at all."""
    lines = ["  " + line for line in value.split("\n")]
    text = line_break.join([f"- {header} # comment", *lines, "- next", ""])
    try:
        yaml.load(text, yaml.CSafeLoader)
    except yaml.YAMLError:
        return
    root = load_yaml(SourceFile("t.yaml", text))
    assert root.python_value() == yaml.load(text, yaml.CSafeLoader)
    for scalar in scalars(root):
        assert_maps_back(scalar)


@pytest.mark.parametrize(
    ("text", "part", "raw"),
    [
        ("- plain text", "text", "text"),
        ("- plain\n  text", "plain text", "plain\n  text"),
        ("- a\n\n\n  b", "\n\n", "\n\n"),
        ("- 'it''s here'", "'s", "''s"),
        ("- 'two\n  lines'", "lines", "lines"),
        ('- "a\\tb\\x41\\u0042c"', "ABc", "\\x41\\u0042c"),
        ('- "joined \\\n    line"', "joined line", "joined \\\n    line"),
        ('- "é😀 x"', "x", "x"),
        ("- |\n  one\n   two\n", " two", " two"),
        ("- |\r\n  one\r\n  two\r\n", "two", "two"),
        ("- |2\n   one\n  two\n", " one", " one"),
        ("- >\n  one\n  two\n\n  three\n", "two\nthree", "two\n\n  three"),
        ("- >-\n\n  one\n    two\n  three", "  two\nthree", "  two\n  three"),
        ("- &anchor !!str 'tagged'", "tagged", "tagged"),
        ("- !!str # why\n  plain", "plain", "plain"),
        ("[plain, 'in flow']", "plain", "plain"),
    ],
)
def test_part_of_a_value(text: str, part: str, raw: str) -> None:
    """A part of a value has the place of the raw characters it comes from."""
    root = load_yaml(SourceFile("t.yaml", text))
    assert isinstance(root, SequenceNode)
    scalar = root.items[0]
    assert isinstance(scalar, Scalar)
    start = scalar.value.index(part)
    span = scalar.span_of(start, start + len(part))
    # Between two kept characters there may be indentation that belongs to neither.
    assert span.text == raw
    assert_like_pyyaml(text)


def test_point_in_a_value() -> None:
    """A part without width is a point: before a character, or behind the last one."""
    root = load_yaml(SourceFile("t.yaml", "func: 'a''b'"))
    assert isinstance(root, MappingNode)
    scalar = root.entries[0][1]
    assert isinstance(scalar, Scalar)
    assert [scalar.span_of(offset, offset)[1:] for offset in range(4)] == [(7, 7), (8, 8), (10, 10), (11, 11)]


def test_empty_value() -> None:
    """An empty value is a point, whatever is asked of it."""
    root = load_yaml(SourceFile("t.yaml", "a:\nb: ''\n"))
    assert isinstance(root, MappingNode)
    missing, empty = (value for _, value in root.entries)
    assert isinstance(missing, Scalar)
    assert isinstance(empty, Scalar)
    assert missing.span_of(0, 5)[1:] == (2, 2)
    assert empty.span_of(0, 5)[1:] == (7, 7)
