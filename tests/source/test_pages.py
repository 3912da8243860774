"""The examples in the pages of the YAML codes are true: they have that fault, at the place that is marked."""

from __future__ import annotations

import re

import pytest

from opwright.plugins.code_pages import all_codes
from opwright.source.diagnostic import Diagnostic, Diagnostics, Fault
from opwright.source.expect import check_unique_keys, expect_strings
from opwright.source.nodes import MappingNode, Node, Scalar, SequenceNode
from opwright.source.text import SourceFile
from opwright.source.yaml import load_yaml


def marked_examples() -> list[tuple[str, str]]:
    """Each example that has a line of carets, with the code of its page."""
    return [
        (row.code, "\n".join(line[4:] for line in block.splitlines()))
        for row in all_codes()
        if row.code.startswith("E01")
        for block in re.findall(r"(?:^ {4}.*\n)+", row.page + "\n", flags=re.MULTILINE)
        if re.search(r"^ *\^+", block, flags=re.MULTILINE)
    ]


def check_mappings(node: Node, sink: Diagnostics) -> None:
    """Runs the checks of shapes on each mapping below a node."""
    if isinstance(node, MappingNode):
        check_unique_keys(node, sink)
        for key, value in node:
            if key.value == "tags":
                expect_strings(value, "`tags`", sink)
            check_mappings(value, sink)
    elif isinstance(node, SequenceNode):
        for item in node:
            check_mappings(item, sink)
    else:
        assert isinstance(node, Scalar)


def first_diagnostic(text: str) -> Diagnostic:
    """What is found first in a text."""
    sink = Diagnostics()
    try:
        root = load_yaml(SourceFile("t.yaml", text))
        check_mappings(root, sink)
        root.python_value()
    except Fault as fault:
        sink.add(fault.diagnostic)
    return sink.sorted()[0]


@pytest.mark.parametrize(("code", "example"), marked_examples())
def test_example_has_its_fault(code: str, example: str) -> None:
    """The example has the fault of its page, below the carets and with the words beside them."""
    lines = example.splitlines()
    marks = next(number for number, line in enumerate(lines) if re.match(r" *\^", line))
    carets, _, words = lines[marks].strip().partition(" ")
    diagnostic = first_diagnostic("\n".join(lines[:marks] + lines[marks + 1 :]) + "\n")
    assert diagnostic.span is not None
    assert (diagnostic.code, diagnostic.span.line, diagnostic.span.column) == (
        code,
        marks,
        lines[marks].index("^") + 1,
    )
    assert len(diagnostic.span.text) == len(carets)
    assert diagnostic.labels[0].text == words


def test_there_are_examples() -> None:
    """The pages are searched for examples the way that they are written."""
    assert len({code for code, _ in marked_examples()}) >= 7
