"""YAML nodes have the values that PyYAML gives, and spans that cut them out of the file."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from opwright.source import yaml as source_yaml
from opwright.source.diagnostic import Fault
from opwright.source.nodes import MappingNode, Node, Scalar, SequenceNode
from opwright.source.text import SourceFile
from opwright.source.yaml import load_yaml

PLAIN = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8) | st.dates()
TREES = st.recursive(PLAIN, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(PLAIN, inner, max_size=4))


def loaded(text: str) -> Node:
    """The root node of a text."""
    return load_yaml(SourceFile("t.yaml", text))


def mapping(text: str) -> MappingNode:
    """The root node of a text that is a mapping."""
    root = loaded(text)
    assert isinstance(root, MappingNode)
    return root


@pytest.fixture(params=["CSafeLoader", "SafeLoader"])
def parser(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Each of PyYAML's two parsers in turn."""
    name: str = request.param
    if not hasattr(yaml, name):
        pytest.skip("PyYAML has no C parser here")
    monkeypatch.setattr(source_yaml, "_Parser", getattr(yaml, name))
    return name


@given(TREES, st.sampled_from([None, True, False]))
def test_values_are_those_of_pyyaml(tree: object, flow: bool | None) -> None:
    """What PyYAML dumps is loaded as `yaml.safe_load` loads it, types and all."""
    text = yaml.safe_dump(tree, default_flow_style=flow, allow_unicode=True)
    assert loaded(text).python_value() == yaml.safe_load(text)


@given(TREES)
def test_spans_nest(tree: object) -> None:
    """A node's span holds its children's spans, in order and apart."""

    def check(node: Node) -> None:
        assert 0 <= node.start <= node.end <= len(text)
        children = [] if isinstance(node, Scalar) else list(node)
        flat = [child for item in children for child in (item if isinstance(item, tuple) else (item,))]
        position = node.start
        for child in flat:
            assert position <= child.start
            position = child.end
            check(child)
        assert position <= node.end

    text = yaml.safe_dump(tree)
    check(loaded(text))


def test_spans_of_keys_and_values(parser: str) -> None:
    """Keys, values, lists and mappings have the spans that a reader would mark."""
    text = "a: plain   # comment\nb: 'quoted'\nc: |\n  one\n\n\nd: [1, {x: y}]\ne:\n  - f: g\n\n# end\n"
    root = mapping(text)
    spans = {key.value: value.span.text for key, value in root}
    assert spans == {
        "a": "plain",
        "b": "'quoted'",
        "c": "|\n  one",
        "d": "[1, {x: y}]",
        "e": "- f: g",
    }
    assert root.span.text == text[: text.index("\n\n# end")]
    assert [key.span.text for key, _ in root] == list("abcde")
    assert parser


def test_kinds(parser: str) -> None:
    """Plain scalars have their YAML 1.1 types; quoted and block ones are strings; a tag rules."""
    text = "[a, yes, 0x1f, 1_000, 1.5, ~, '1', 2020-01-01, !!str 7, ! 7, 1:30, on, 1e3, =]"
    root = loaded(text)
    assert isinstance(root, SequenceNode)
    kinds = [item.kind for item in root if isinstance(item, Scalar)]
    assert kinds == [
        "str",
        "bool",
        "int",
        "int",
        "float",
        "null",
        "str",
        "timestamp",
        "str",
        "str",
        "int",
        "bool",
        "str",
        "value",
    ]
    assert root.items[0].description == "a string"
    assert loaded("|\n  1").description == "a string"
    assert loaded("!!int '7'").python_value() == 7
    assert parser


def test_get() -> None:
    """A key gives its value; of a repeated key the last counts, as for PyYAML; a missing key gives None."""
    root = mapping("a: 1\nb: 2\na: 3\n")
    assert {key: value.python_value() for key in "ab" if (value := root.get(key))} == {"a": 3, "b": 2}
    assert root.get("c") is None
    assert root.entry("c") is None
    entry = root.entry("b")
    assert entry is not None
    assert entry[0].span.line == 2


def test_duplicate_keys() -> None:
    """Each repetition of a key comes with the first; `1` and `"1"` are two keys."""
    root = mapping("a: 1\nb: 2\na: 3\n'a': 4\n1: x\n'1': y\n")
    assert [(first.start, again.start) for first, again in root.duplicate_keys()] == [(0, 10), (0, 15)]
    assert mapping("a: 1\nb: 2\n").duplicate_keys() == []


MERGES = [
    "a: &x {k: 1, l: 2}\nb: {<<: *x, l: 3, m: 4}",
    "a: &x {k: 1}\nb: &y {k: 2, l: 2}\nc: {m: 1, <<: [*x, *y]}",
    "a: &x {k: 1}\nb: &y {<<: *x, l: 2}\nc: {<<: *y, <<: *x}",
    "- &x [1, 2]\n- *x\n- {k: *x}",
    "- &k key\n- *k : value",
    "'<<': 1",
    "a: &x\nb: *x",
]


@pytest.mark.parametrize("text", MERGES)
def test_aliases_and_merges(text: str, parser: str) -> None:
    """Aliases and merge keys give what PyYAML makes of them."""
    assert loaded(text).python_value() == yaml.safe_load(text)
    assert parser


def test_block_that_ends_with_an_alias() -> None:
    """A block collection ends with its last item, also when that is an alias."""
    root = mapping("a: &x 1\nb:\n  - 2\n  - *x\n\nc: 3\n")
    value = root.get("b")
    assert value is not None
    assert value.span.text == "- 2\n  - *x"


def test_deep_nesting() -> None:
    """Lists nest 100 deep; one that is deeper is a fault where it starts, however deep it goes on."""
    root = loaded("- " * 100 + "a")
    depth = 0
    while isinstance(root, SequenceNode):
        root = root.items[0]
        depth += 1
    assert depth == 100
    for text, at in (("- " * 3000 + "a", 200), ("[" * 100_000, 100), ("{a: " * 30_000, 400), ("[{a: " * 50_000, 250)):
        assert_refused(text, at, "nest more than 100 deep")


def test_aliases_share_their_values() -> None:
    """Aliases of aliases share their values, and what they repeat is bounded, so that a small file stays small."""
    lines = ["a0: &a0 [x, x]\n", *[f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]\n" for n in range(1, 60)]]
    value = loaded("".join(lines[:15])).python_value()
    assert isinstance(value, dict)
    assert value["a14"][0] is value["a14"][1]
    at = "".join(lines[:17]).index("*a15")
    assert_refused("".join(lines), at, "aliases repeat more than 500,000 values")


def test_merges_that_multiply() -> None:
    """Merge keys that multiply the keys of a mapping are refused, at an alias, before the mapping is made."""
    text = "- &a0 {k: 1}\n" + "".join(
        f"- &a{n} {{<<: [*a{n - 1}, *a{n - 1}, *a{n - 1}], x{n}: 1}}\n" for n in range(1, 40)
    )
    assert_refused(text, text.index("*a9, *a9") + 5, "aliases repeat more than 500,000 values")


def test_long_scalar() -> None:
    """A scalar has 20,000 characters at most, in every style; a longer one is a fault at its start."""
    assert loaded("- " + "x" * 20_000).span.end == 20_002
    for scalar in ("x" * 20_001, '"' + "\\\\" * 20_001 + '"', "|\n" + "  x\n" * 12_000):
        assert_refused(f"- {scalar}", 2, "more than 20,000 characters")


def test_many_values(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file has a number of events at most; the fault is where the first value beyond stands."""
    monkeypatch.setattr(source_yaml, "YAML_EVENTS", 5_000)
    assert_refused("[" + "a," * 6_000 + "]", 2 * (5_000 - 4) + 1, "more than 5,000 values")


@pytest.mark.thorough
def test_sixty_thousand_operators() -> None:
    """A file with 60,000 entries that say a lot is read; with a quarter of a million, it has too many values."""
    fields = "dispatch: {CPU: a, CUDA: b}, outputs: like(x), dims: {x: n m, y: m k}, requires: n > 0"
    entry = f"- {{func: f(Tensor x) -> Tensor, {fields}}}\n"
    root = loaded(entry * 60_000)
    assert isinstance(root, SequenceNode)
    assert len(root.items) == 60_000
    assert_refused("- {a: b}\n" * 400_000, 9 * 374_999 + 2, "more than 1,500,000 values")


def assert_refused(text: str, at: int, message: str) -> None:
    """Expects a text to go beyond a limit at an offset."""
    with pytest.raises(Fault, match=message) as caught:
        loaded(text)
    place = caught.value.diagnostic.span
    assert caught.value.diagnostic.code == "E0117"
    assert place is not None
    assert (place.start, place.end) == (at, at + 1)


@pytest.mark.parametrize("text", ["2024-13-01", "!!int x", "!!float ''", "!!bool maybe", "!!timestamp never"])
def test_value_that_is_not_of_its_type(text: str) -> None:
    """A value that lies about its type is a fault at its place when it is asked for."""
    with pytest.raises(Fault) as caught:
        loaded(f"- {text}").python_value()
    place = caught.value.diagnostic.span
    assert caught.value.diagnostic.code == "E0115"
    assert place is not None
    assert place.text == text


@pytest.mark.thorough
@pytest.mark.alone
def test_real_file_is_read_like_pyyaml_and_fast(reference_inputs: Path) -> None:
    """PyTorch's operators are read as PyYAML reads them, at no more than a few times the parser's time."""
    file = SourceFile.read(reference_inputs / "native" / "native_functions.yaml")
    assert loaded(file.text).python_value() == yaml.load(file.text, yaml.CSafeLoader)

    def best(action: object) -> float:
        assert callable(action)
        times = []
        for _ in range(5):
            start = time.process_time()
            action()
            times.append(time.process_time() - start)
        return min(times)

    def parse_only() -> None:
        parser = yaml.CSafeLoader(file.text)
        while not isinstance(parser.get_event(), yaml.StreamEndEvent):
            pass

    assert best(lambda: load_yaml(file)) < 4 * best(parse_only)
