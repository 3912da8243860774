"""Values of the wanted shape are given; a wrong shape is a diagnostic at its place, and the loader goes on."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from opwright.source.diagnostic import Diagnostics
from opwright.source.expect import (
    check_unique_keys,
    expect_boolean,
    expect_integer,
    expect_mapping,
    expect_sequence,
    expect_string,
    expect_strings,
)
from opwright.source.nodes import MappingNode, Node
from opwright.source.render import render_short
from opwright.source.text import SourceFile
from opwright.source.yaml import load_yaml


def node_of(text: str) -> Node:
    """The root node of a text."""
    return load_yaml(SourceFile("t.yaml", text))


def test_wanted_shapes_are_given() -> None:
    """Each helper gives the value of its shape and reports nothing."""
    sink = Diagnostics()
    mapping = node_of("a: b")
    sequence = node_of("[a, 'b']")
    assert expect_mapping(mapping, "it", sink) is mapping
    assert expect_sequence(sequence, "it", sink) is sequence
    string = expect_string(node_of("'1'"), "it", sink)
    assert string is not None
    assert string.value == "1"
    for text, values in (("[a, 'b']", ["a", "b"]), ("a", ["a"]), ("[]", [])):
        strings = expect_strings(node_of(text), "it", sink)
        assert strings is not None
        assert [item.value for item in strings] == values
    assert [expect_boolean(node_of(text), "it", sink) for text in ("yes", "False", "on")] == [True, False, True]
    assert expect_integer(node_of("0x10"), "it", sink) == 16
    assert len(sink) == 0


@pytest.mark.parametrize(
    ("expect", "text", "message"),
    [
        (expect_mapping, "[a]", "1:1: error[E0112]: it: expected a mapping, found a list"),
        (expect_mapping, "--- ~", "1:5: error[E0112]: it: expected a mapping, found nothing"),
        (expect_sequence, "a: b", "1:1: error[E0112]: it: expected a list, found a mapping"),
        (
            expect_string,
            "\n\n yes",
            '3:2: error[E0112]: it: expected a string, found a boolean; write `"yes"` with quotes if it is text',
        ),
        (expect_string, "{a: b}", "1:1: error[E0112]: it: expected a string, found a mapping"),
        (
            expect_strings,
            "- a\n- 1.5",
            '2:3: error[E0112]: it: expected a string, found a number; write `"1.5"` with quotes if it is text',
        ),
        (expect_strings, "{a}", "1:1: error[E0112]: it: expected a string or a list of strings, found a mapping"),
        (expect_boolean, "'yes'", "1:1: error[E0112]: it: expected a boolean, found a string"),
        (expect_integer, "2020-01-01", "1:1: error[E0112]: it: expected an integer, found a date"),
    ],
)
def test_wrong_shapes_are_reported(expect: Callable[[Node, str, Diagnostics], object], text: str, message: str) -> None:
    """A wrong shape gives None and a diagnostic that says what is there."""
    sink = Diagnostics()
    assert expect(node_of(text), "it", sink) is None
    assert render_short(sink) == f"t.yaml:{message}\n"


def test_each_wrong_item_is_reported() -> None:
    """Of a list with several wrong items each is reported."""
    sink = Diagnostics()
    assert expect_strings(node_of("[a, 1, [b], ~]"), "it", sink) is None
    assert [diagnostic.span and diagnostic.span.text for diagnostic in sink] == ["1", "[b]", "~"]


def test_repeated_keys_are_reported() -> None:
    """Each repetition of a key is reported at its own place, with the first one as a second label."""
    sink = Diagnostics()
    root = node_of("a: 1\nb: 2\na: 3\na: 4\n")
    assert isinstance(root, MappingNode)
    check_unique_keys(root, sink)
    assert [[label.span.line for label in diagnostic.labels] for diagnostic in sink] == [[3, 1], [4, 1]]
    assert [diagnostic.code for diagnostic in sink] == ["E0107", "E0107"]
