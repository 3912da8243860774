"""What another process reads of a YAML file is what this one would read, and its failures make no difference."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opwright.source import encode, prefetch
from opwright.source.child import usable_processes
from opwright.source.decode import decode_items
from opwright.source.diagnostic import Fault
from opwright.source.nodes import Mapping, Node, Scalar, Sequence
from opwright.source.prefetch import prefetching, read_tree, stream_tree
from opwright.source.text import SourceFile
from opwright.source.yaml import load_yaml

pytestmark = pytest.mark.forks

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
    if isinstance(node, Mapping):
        return "mapping", node.start, node.end, [(shape(key), shape(value)) for key, value in node.entries]
    return "list", node.start, node.end, [shape(item) for item in node.items]


def items_shape(node: Node) -> object:
    """The same; of a list at the root, which need not know where it stands, only the items."""
    return [shape(item) for item in node.items] if isinstance(node, Sequence) else shape(node)


def list_of(node: Node) -> Sequence:
    """A list at the root."""
    assert isinstance(node, Sequence)
    return node


def source(name: str) -> SourceFile:
    """A file of the table."""
    return SourceFile(f"{name}.yaml", {**FILES, **FAULTS}[name])


@pytest.mark.parametrize("name", FILES)
def test_nodes_are_those_of_the_file(name: str) -> None:
    """Values, styles, tags, types and places, however the items came."""
    file = source(name)
    with prefetching([file]):
        assert items_shape(read_tree(file)) == items_shape(load_yaml(file))


@pytest.mark.parametrize("name", ["many", "breaks", "flow", "plain", "blocks"])
def test_plain_lists_are_not_read_twice(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """This process reads nothing of a file that the other one can give."""
    file = source(name)
    monkeypatch.setattr(prefetch, "_load", lambda _: pytest.fail("the file was read here too"))
    with prefetching([file]):
        assert isinstance(read_tree(file), Sequence)


@pytest.mark.parametrize("name", FAULTS)
def test_faults_are_those_of_the_file(name: str) -> None:
    """A fault that the other process meets is raised here, wherever it stands."""
    file = source(name)
    with pytest.raises(Fault) as expected:
        load_yaml(file)
    with prefetching([file]), pytest.raises(Fault) as raised:
        read_tree(file)
    assert raised.value.diagnostic == expected.value.diagnostic


def test_items_come_before_the_fault() -> None:
    """Whoever takes the items as they come gets those before the fault first."""
    file = source("late")
    with prefetching([file]):
        items = iter(list_of(stream_tree(file)))
        first = [next(items) for _ in range(150)]
        with pytest.raises(Fault):
            list(items)
    sound = list_of(load_yaml(source("many"))).items
    assert [shape(item) for item in first if not isinstance(item, tuple)] == [shape(item) for item in sound[:150]]


def test_several_files_in_any_order() -> None:
    """A file that is never asked for, or late, holds up nothing; one that was not prefetched is read here."""
    files = [source(name) for name in ("many", "anchors", "breaks", "flow")]
    with prefetching(files[:3]):
        for file in (files[2], files[3], files[0]):
            assert items_shape(read_tree(file)) == items_shape(load_yaml(file))
    assert items_shape(read_tree(files[1])) == items_shape(load_yaml(files[1]))


def test_a_process_that_dies_makes_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    """What had come is kept, the rest is read here."""
    file = source("many")
    first, encode_items = os.getpid(), encode.encode_items

    def die_after_one(file: SourceFile, at_once: int) -> Iterator[object]:
        chunks = encode_items(file, at_once)
        yield next(chunks)
        if os.getpid() != first:
            os._exit(9)
        yield from chunks

    monkeypatch.setattr(encode, "encode_items", die_after_one)
    with prefetching([file]):
        assert items_shape(read_tree(file)) == items_shape(load_yaml(file))


@pytest.mark.parametrize("sent", [b"\0", b"\0\0\0\0", b"\0\0\0\0\x09\0\0\0", b"\0\0\0\0\x09\0\0\0half"])
def test_a_message_that_is_cut_short_counts_for_nothing(monkeypatch: pytest.MonkeyPatch, sent: bytes) -> None:
    """A process that the system ends leaves what it was about to say unsaid."""

    def send_part(_: object, send: int) -> None:
        os.write(send, sent)
        os._exit(9)

    monkeypatch.setattr(prefetch, "_send_items", send_part)
    file = source("plain")
    with prefetching([file]):
        assert items_shape(read_tree(file)) == items_shape(load_yaml(file))


def test_a_list_comes_in_chunks() -> None:
    """Whoever waits for the first entries need not wait for the last ones."""
    assert len(list(encode.encode_items(source("many"), 100))) > 20


@settings(max_examples=2000, deadline=None)
@given(st.text(alphabet="ab1: -[]{}&*!|>\"'#\n,?<%~\t", max_size=40))
def test_what_is_prefetched_is_never_something_else(text: str) -> None:
    """Any text: what can be encoded has the nodes that `load_yaml` gives, and no fault there."""
    file = SourceFile("any.yaml", text)
    try:
        chunks = list(encode.encode_items(file, 3))
    except (Fault, ValueError):
        return
    root = load_yaml(file)
    assert [shape(item) for chunk in chunks for item in decode_items(file, chunk)] == items_shape(root)


def test_no_process_is_made_where_none_can_be(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever allows many processes does not make them possible."""
    monkeypatch.delattr(os, "fork")
    assert usable_processes(8) == 1
    assert usable_processes() == 1
