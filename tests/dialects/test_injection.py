"""No text of an entry reaches generated code unchecked: words are words, and only strings hold anything else."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import yaml

from tests.dialects.loading import load_text

ENTRIES = """
- func: ns::foo.Over(Tensor self, str text="ab", *, int dim=1) -> Tensor
  variants: function
  python_module: linalg
  category_override: dummy
  tags: [core, pointwise]
  dispatch: {CPU: foo_cpu, CUDA: at::foo_cuda}
  cpp_no_default_args: [dim]
  autogen: foo.Over_out
  device_check: NoCheck
- func: bar.out(Tensor self, int dim, *, Tensor(a!) out) -> Tensor(a!)
  structured: True
  structured_inherits: TensorIteratorBase
  precomputed:
  - dim -> int dimm, int other
  - int more
  dispatch: {"CPU, CUDA": bar_out}
- func: bar(Tensor self, int dim) -> Tensor
  structured_delegate: bar.out
- func: baz.out(Tensor self, Scalar x, *, Tensor(a!) out) -> Tensor(a!)
  structured: True
  structured_inherits: TensorIteratorBase
  ufunc_inner_loop:
    Generic: baz (AllAndComplex, BFloat16)
    ScalarOnly: baz (Bool)
- func: baz(Tensor self, Scalar x) -> Tensor
  structured_delegate: baz.out
"""
STRING = '"ab"'
#: What ends a line, a string, a statement, a comment or a slot in C++, Python, YAML or a template, and odd letters.
PAYLOADS = (
    "\n#Z\n",
    "\r#Z",
    "\u2028Z",
    "\x85Z",
    "\0Z",
    "\tZ",
    '"Z',
    "'Z",
    "\\Z",
    ";Z",
    "*/Z",
    "}Z{",
    "${Z}",
    " Z ",
    "é",
)

Path = tuple[Any, ...]
Tree = list[dict[str, Any]]

DUMPER = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


def operator(entry: dict[str, Any]) -> str:
    """The name of the operator of an entry, without its overload."""
    return str(entry["func"]).partition("(")[0].partition(".")[0]


def values(node: object, path: Path = ()) -> Iterator[tuple[Path, str]]:
    """Each text in a tree of values, with the way to it."""
    if isinstance(node, str):
        yield path, node
    elif isinstance(node, dict):
        for key, value in node.items():
            yield (*path, ("key", key)), key
            yield from values(value, (*path, key))
    elif isinstance(node, list):
        for place, value in enumerate(node):
            yield from values(value, (*path, place))


def changed(tree: Tree, path: Path, new: str) -> Tree:
    """The tree with another text in one place."""
    tree = copy.deepcopy(tree)
    node: Any = tree
    for step in path[:-1]:
        node = node[step]
    last = path[-1]
    if isinstance(last, tuple):
        entries = [(new if key == last[1] else key, value) for key, value in node.items()]
        node.clear()
        node.update(entries)
    else:
        node[last] = new
    return tree


def accepted(payload: str) -> Iterator[tuple[str, int]]:
    """The texts into which a payload can be put without a fault, with the place in them."""
    tree: Tree = yaml.safe_load(ENTRIES)
    for path, value in values(tree):
        # Of long schemas every fourth place does, one of which is inside the string.
        for at in range(0, len(value) + 1, 4 if len(value) > 30 else 1):
            new = changed(tree, path, value[:at] + payload + value[at:])
            group = [entry for entry, old in zip(new, tree, strict=True) if operator(old) == operator(tree[path[0]])]
            _, sink = load_text(yaml.dump(group, Dumper=DUMPER, sort_keys=False, width=10_000))
            if not sink.has_errors:
                yield value, at


def test_entries_are_sound() -> None:
    """The entries have no fault, so that what is refused is refused for the payload."""
    assert not load_text(ENTRIES)[1].has_errors


@pytest.mark.thorough
@pytest.mark.parametrize("payload", PAYLOADS, ids=ascii)
def test_payload_stands_in_strings_alone(payload: str) -> None:
    """What is no word is taken inside the quotes of a string only, and there only if it can be printed as it is."""
    places = list(accepted(payload))
    for value, at in places:
        assert STRING in value
        start = value.index(STRING)
        assert start < at < start + len(STRING)
    assert bool(places) == (payload.isprintable() and payload not in ('"Z', "\\Z"))


@pytest.mark.parametrize("name", ["co\nre", "co re", "c\u00f6re", "\ufb01re", "co;re", "3core"])
def test_tags_are_words(name: str) -> None:
    """The name of a tag, which is an identifier in C++ and Python, has ASCII letters, digits and `_`."""
    _, sink = load_text("[]", yaml.dump([{"tag": name, "desc": "A tag."}]))
    assert [diagnostic.code for diagnostic in sink] == ["E0402"]


LOADERS: dict[str, Callable[[str], str]] = {
    "return": lambda digits: f"- func: f(Tensor self, int[{digits}] a) -> Tensor\n",
    "default": lambda digits: f"- func: f(Tensor self, int a={digits}) -> Tensor\n",
    "default of a list": lambda digits: f"- func: f(Tensor self, int[] a=[{digits}]) -> Tensor\n",
    "hexadecimal": lambda digits: f"- func: f(Tensor self, int a=0x{digits}) -> Tensor\n",
    "string": lambda digits: f'- func: f(Tensor self, str a="\\\\x{digits}") -> Tensor\n',
    "flag": lambda digits: f"- func: f(Tensor self) -> Tensor\n  device_guard: {digits}\n",
}


@pytest.mark.parametrize("place", LOADERS)
def test_numbers_of_thousands_of_digits(place: str) -> None:
    """A number of more digits than Python converts is refused where it stands."""
    _, sink = load_text(LOADERS[place]("7" * 5_000))
    assert sink.has_errors
    assert all(diagnostic.span is not None for diagnostic in sink)
