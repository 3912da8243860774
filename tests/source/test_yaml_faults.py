"""Each mistake in a YAML file has its code, its exact span, and a fix, with either parser."""

from __future__ import annotations

import random

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from opwright.source import yaml as source_yaml
from opwright.source.diagnostic import Fault
from opwright.source.render import render_terminal
from opwright.source.text import SourceFile
from opwright.source.yaml import load_yaml

# A text, with the code and the characters at the place, which stand between « and » in the text.
CASES = [
    ("E0101", "a: «@»x"),
    ("E0101", "a: «`»x`"),
    ("E0101", "a: «%»x"),
    ("E0101", "a: |3«z»"),
    ("E0101", "«!»e!x a"),
    ("E0102", "«\t»a: b"),
    ("E0102", "a:\n«\t»- b"),
    ("E0102", "a: x\n«\t»y: z"),
    ("E0103", "a: «'»x\nb: c"),
    ("E0103", 'a: «"»x\nb: c'),
    ("E0103", "- «'»it''s"),
    ("E0103", "a: «'»x\n---\n b'"),
    ("E0104", "a: b\n «c»: d"),
    ("E0104", "a:\n  b: c\n   «d»: e"),
    ("E0104", "a:\n  b: c\n «d»: e"),
    ("E0104", "- func: foo(str a«:» x)"),
    ("E0104", "a: b«:» c"),
    ("E0104", "- a\n«b»: c"),
    ("E0104", "a: b\n«foo»\nc: d"),
    ("E0104", "«no colon»\nb: c"),
    ("E0104", "- a\n«-b»\n- c"),
    ("E0104", 'a: "b" «c»'),
    ("E0104", "a: ''«b»''"),
    ("E0104", "a: [b]«]»"),
    ("E0104", "[a]«]»"),
    ("E0104", "a: «]»"),
    ("E0104", "a: «-»\n - b\n  - c"),
    ("E0118", "- a\n«<<<<<<< HEAD»\n- b\n=======\n- c\n>>>>>>> there\n"),
    ("E0118", "a: b\n«<<<<<<< HEAD»\nc: d\n||||||| base\n=======\nc: e\n>>>>>>> there\n"),
    ("E0105", "a: b\n«---»\nc: d"),
    ("E0105", "--- a\n«---» b"),
    ("E0106", "«»"),
    ("E0106", "«»# nothing else\n"),
    ("E0108", "a: «\x01»"),
    ("E0108", "a: b«\x7f»"),
    ("E0108", "«\ud800»"),
    ("E0109", "a: «*x»"),
    ("E0109", "- func: «*»add(Tensor self)"),
    ("E0109", "a: «&» b"),
    ("E0109", "a: &x 1\nb: «&x» 2"),
    ("E0109", "a: !!str &x 1\nb: !!str «&x» 2"),
    ("E0109", "a: &x [«*x»]"),
    ("E0110", "a: «!!python/name:os.system» x"),
    ("E0110", "a: &b «!c» {d: e}"),
    ("E0110", "«!!omap» [a: b]"),
    ("E0111", "{«{ name }»}: x"),
    ("E0111", "? «[a]»\n: b"),
    ("E0113", "a: «[»1,\nb: c"),
    ("E0113", "a: «{»x: 1, y: 2\n\n"),
    ("E0113", "a: [b, 'c' «d»]"),
    ("E0114", 'a: "«\\q»"'),
    ("E0114", 'a: "x«\\u»12"'),
    ("E0116", "<<: «3»"),
    ("E0116", "<<: [{a: b}, «c»]"),
]


def fault_of(text: str) -> Fault | None:
    """The fault that a text has, if any; every other exception is a bug."""
    try:
        load_yaml(SourceFile("t.yaml", text))
    except Fault as fault:
        return fault
    return None


@pytest.mark.parametrize("parser", ["CSafeLoader", "SafeLoader"])
@pytest.mark.parametrize(("code", "case"), [pytest.param(*case, id=ascii(case[1])) for case in CASES])
def test_mistakes(code: str, case: str, parser: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The fault has the code, and the span that is marked in the text; it can be drawn."""
    if not hasattr(yaml, parser):
        pytest.skip("PyYAML has no C parser here")
    monkeypatch.setattr(source_yaml, "_Parser", getattr(yaml, parser))
    before, marked, after = case.replace("»", "«").split("«")
    fault = fault_of(before + marked + after)
    assert fault is not None
    place = fault.diagnostic.span
    assert place is not None
    assert (fault.diagnostic.code, place.start) == (code, len(before))
    assert place.text in (marked, marked[:1])
    assert "t.yaml" in render_terminal([fault.diagnostic], color=False)


@pytest.mark.parametrize(
    ("text", "message"),
    [("a: `b", "a backquote cannot start a value"), ("a: @b", "`@` cannot start a value")],
)
def test_reserved_characters_are_named(text: str, message: str) -> None:
    """A backquote, which cannot stand between two of its kind, is a word in the message; others are themselves."""
    fault = fault_of(text)
    assert fault is not None
    assert fault.diagnostic.message == message


PIECES = ["- ", ": ", "a", "'", '"', "\n", "\n  ", "\t", "[", "]", "{", "}", ",", "&x ", "*x", "!!str ", "|", ">", "#"]
PIECES += ["? ", "---\n", "%", "\\", "<<", "\x00", "é", "\u2028", "1", "@", "..."]


def judgement_of_pyyaml(text: str) -> tuple[bool, object]:
    """Whether PyYAML takes a text, and the value it gives; some of its refusals are tracebacks."""
    try:
        return True, yaml.load(text, yaml.CSafeLoader)
    except (yaml.YAMLError, ValueError, LookupError, TypeError, AttributeError):
        return False, None


def own_judgement(text: str) -> tuple[Fault | None, object]:
    """The fault or the value of a text."""
    try:
        return None, load_yaml(SourceFile("t.yaml", text)).python_value()
    except Fault as fault:
        return fault, None


def assert_same_judgement(text: str) -> None:
    """Checks that a text is read as PyYAML reads it, and that what PyYAML refuses is a fault."""
    taken, expected = judgement_of_pyyaml(text)
    fault, value = own_judgement(text)
    if fault is None:
        assert taken
        assert value == expected
        return
    assert fault.diagnostic.span is not None
    # PyYAML takes an empty file, sets and the like, and what a merge key cannot mean.
    assert not taken or fault.diagnostic.code in ("E0106", "E0109", "E0110", "E0111", "E0116")


@given(st.lists(st.sampled_from(PIECES), max_size=15).map("".join))
def test_any_text_is_read_or_refused(text: str) -> None:
    """Any text is read as PyYAML reads it, or is a fault with a place; nothing else ever leaves the loader."""
    assert_same_judgement(text)


SAMPLE = """\
- func: add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
  device_check: NoCheck   # TensorIterator
  variants: function, method
  dispatch:
    SparseCPU, SparseCUDA: 'add_sparse'
    Meta: "add_\\x6deta"
  tags: [core, pointwise]
- func: 'sub'
  note: |
    text
     deeper
"""


@given(st.randoms(use_true_random=False), st.integers(1, 4))
def test_mutated_file_is_read_or_refused(rng: random.Random, count: int) -> None:
    """A usual file with characters deleted, doubled or replaced is read or is a fault, never a traceback."""
    text = SAMPLE
    for _ in range(count):
        offset = rng.randrange(len(text))
        piece = rng.choice(["", text[offset] * 2, rng.choice(PIECES)])
        text = text[:offset] + piece + text[offset + 1 :]
    assert_same_judgement(text)
