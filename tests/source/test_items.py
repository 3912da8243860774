"""The items of a list that are read alone are those of the whole file."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from opwright.source.diagnostic import Fault
from opwright.source.items import ChosenItems, read_items, runs_of, split_items
from opwright.source.nodes import MappingNode, Node, Scalar, SequenceNode
from opwright.source.text import SourceFile
from opwright.source.yaml import load_yaml

ENTRIES = "".join(
    f"- func: f{number}(Tensor self) -> Tensor\n  dispatch:\n    CPU, CUDA: f{number}\n  tags: [core, 'view']\n"
    for number in range(500)
)
FILES = {
    "many": ENTRIES,
    "styles": "- 'a'\n- \"b\\n\"\n- |\n  c\n\n- >\n  d\n- !!str 1\n- 2\n- yes\n-\n- {}\n- []\n- [[x], {y: z}]\n# end\n",
    "breaks": "- a: 1\r\n  b: two\r\n- c\r\n",
    "flow": "[a, {b: c}, [d]]\n",
    "mapping": "a: 1\nb: [2]\n",
    "word": "word\n",
    "anchors": ENTRIES + "- &x {a: 1}\n- *x\n- <<: *x\n  b: 2\n",
    "keys": "- ? c\n  : d\n- [{e: {f: [g]}}, h: i]\n",
    "merges": "- a: 1\n- <<: {b: 2}\n",
    "blocks": "- a: |\n    one\n\n    two\n\n  b: >-\n    three\n\n\n- c\n",
    "plain": "# here\n- 'a'\n- \"b\\n\"\n- 2\n- yes\n-\n- {}\n- []\n- [[x], {y: z}, ]\n- - deep\n  - {}\n# end\n",
    "deep": "- " + "[" * 90 + "]" * 90 + "\n",
}
FAULTS = {
    "late": ENTRIES + "- [unclosed\n",
    "early": "- 'unclosed\n",
    "empty": "# nothing\n",
    "alias": ENTRIES + "- *nowhere\n",
    "two": "- a\n---\n- b\n",
    "two lists": "[]\n---\n[a]\n",
    "key": ENTRIES + "- {[a]: b}\n",
}


def shape(node: Node) -> object:
    """All that a node says, to be compared."""
    if isinstance(node, Scalar):
        return node.start, node.end, node.value, node.style, node.tag, node.kind
    if isinstance(node, MappingNode):
        return "mapping", node.start, node.end, [(shape(key), shape(value)) for key, value in node.entries]
    return "list", node.start, node.end, [shape(item) for item in node.items]


def read_all(text: str) -> list[object] | None:
    """The items of a text, each read alone; None if one of them cannot be."""
    file = SourceFile("ops.yaml", text)
    items = split_items(text)
    nodes = read_items(ChosenItems(file, items)) if items else None
    return None if nodes is None else [shape(node) for node in nodes]


def read_whole(text: str) -> list[object] | None:
    """The items of a text that is read whole; None if it is not a list."""
    try:
        root = load_yaml(SourceFile("ops.yaml", text))
    except Fault:
        return None
    return [shape(item) for item in root.items] if isinstance(root, SequenceNode) else None


#: Texts with items that look whole where they are split, and are not; none can be read item by item.
SPLIT_WRONG = {
    "quotes": "- 'a\n- b'\n- c\n",
    "double quotes": '- "a\n- b"\n',
    "brackets": "- [a,\n- b]\n",
    "two documents": "- a\n---\n- b\n",
    "document ends": "- a\n...\n- b\n",
    "anchor": "- &x a\n- *x\n",
    "alias": "- a\n- *x\n",
    "other line breaks": "- a\r- b\n- c\n",
    "dash alone": "- a\n-\n  b\n",
    "mapping": "a:\n- b\n- c\n",
    "document starts": "---\n- a\n",
    "directive": "%YAML 1.1\n---\n- a\n",
    "indented": " - a\n - b\n",
    "empty": "",
}


@pytest.mark.parametrize("name", SPLIT_WRONG)
def test_items_that_do_not_parse_alone(name: str) -> None:
    """Wherever a line with a dash does not start an item, or an item needs another one, the file is read whole."""
    assert read_all(SPLIT_WRONG[name]) is None


@pytest.mark.parametrize("name", ["many", "blocks", "merges"])
def test_items_that_parse_alone(name: str) -> None:
    """Values, styles and positions of the items of plain lists are those of the whole file."""
    items = read_all(FILES[name])
    assert items is not None
    assert items == read_whole(FILES[name])


@pytest.mark.parametrize("name", [*FILES, *FAULTS])
def test_items_are_those_of_the_file(name: str) -> None:
    """Lists of all forms either have the items of the whole file, or are read whole."""
    text = {**FILES, **FAULTS}[name]
    items = read_all(text)
    assert items is None or items == read_whole(text)


@pytest.mark.thorough
@settings(max_examples=3000, deadline=None)
@given(
    st.lists(
        st.sampled_from(
            [
                "- ",
                "\n",
                "\n- ",
                "a",
                ": ",
                "'",
                '"',
                "|",
                "[",
                "]",
                "#",
                " ",
                "\r",
                "&x",
                "---",
                "{",
                "}",
                ",",
                "%",
                "?",
                "\t",
                "...",
                "\x85",
            ]
        )
    ).map("".join)
)
@example("- a: |\n    b\n\n\n- c\n")
@example("- a # b\n# c\n\n- d\n")
@example("- 'a\n\n- b': c\n- d\n")
def test_no_text_has_other_items(text: str) -> None:
    """If every item of any text parses alone, the text is a list of these items."""
    items = read_all(text)
    assert items is None or items == read_whole(text)


def test_items_in_runs_are_those_of_the_whole_file() -> None:
    """Whichever items are chosen, they are read in runs, and their nodes have their places in the file."""
    file = SourceFile("ops.yaml", FILES["many"])
    whole = read_whole(file.text)
    assert whole is not None
    for keep in (2, 3, 7, 1):
        some = ChosenItems(file, [item for item in split_items(file.text) if item[0] % keep == 0])
        numbers = [number for number, item in enumerate(split_items(file.text)) if item in some.items]
        nodes = read_items(some)
        assert nodes is not None
        assert [shape(node) for node in nodes] == [whole[number] for number in numbers]
    assert len(list(runs_of(split_items(file.text)))) == 1
