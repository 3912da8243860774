"""Loading as a whole: files of the wrong shape, many faults at once, and no traceback whatever the text."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opwright.dialects.native_functions.loader import load_catalog
from opwright.release.rules import Rules
from opwright.release.version import parse_version
from opwright.source.diagnostic import Diagnostics
from opwright.source.text import SourceFile
from tests.dialects.cases import FOLDER, load_cases
from tests.dialects.loading import TAGS, found_faults, load_text

EIGHT = """\
- func: first(Tensr self) -> Tensor
- func: second(Tensor self) -> Tensor
  variants: function, metod
  dispatch:
    CPUU: second_cpu
    CUDA: second-cuda
- func: third(Tensor self, int dim=1, Tensor more) -> Tensor
- func: fourth(Tensor self) -> Tensor
  structured_delegate: fourth.out
- func: fifth(Tensor self) -> Tensor
  tag: core
- func: sixth(Tensor self) -> Tensor
  tags: [core, cor]
"""


def test_eight_faults_are_eight_diagnostics() -> None:
    """One run finds all faults of a file, each at its line and column."""
    _, sink = load_text(EIGHT)
    assert found_faults(sink) == (
        (1, 15, 5, "E0202"),
        (3, 23, 5, "E0305"),
        (5, 5, 4, "E0310"),
        (6, 11, 11, "E0313"),
        (7, 39, 11, "E0207"),
        (9, 24, 10, "E0412"),
        (11, 3, 3, "E0303"),
        (13, 16, 3, "E0335"),
    )
    helps = {diagnostic.code: diagnostic.help for diagnostic in sink}
    assert helps["E0310"] == "did you mean `CPU`?"
    assert helps["E0303"] == "did you mean `tags`?"


@pytest.mark.parametrize("text", ["func: x", "7", "text"])
def test_files_are_lists(text: str) -> None:
    """Both files are lists; anything else is one fault of the whole file."""
    _, sink = load_text(text)
    assert [fault[3] for fault in found_faults(sink)] == ["E0401"]
    _, sink = load_text("[]", text)
    assert [fault[3] for fault in found_faults(sink)] == ["E0401"]


def test_both_files_are_read_though_one_is_broken() -> None:
    """A file that is no YAML does not keep the faults of the other from being found."""
    _, sink = load_text("- func: first(Tensr self) -> Tensor\n", "- tag: [\n")
    assert next(diagnostic.code for diagnostic in sink.sorted()) == "E0202"
    assert len(sink) == 2


def test_a_fault_leaves_out_its_entry_alone() -> None:
    """Sound entries of a file with faults are in the catalog."""
    catalog, sink = load_text("- func: first(Tensr self) -> Tensor\n- func: second(Tensor self) -> Tensor\n")
    assert sink.has_errors
    assert [function.name.text for function in catalog] == ["second"]


@pytest.mark.parametrize(("version", "tags"), [("2.12.0", False), ("2.13.0", True)])
def test_made_overloads_are_tagged_by_kind(version: str, tags: bool) -> None:
    """Releases from 2.13 on tag a synthesized out overload `out`, whatever `tags.yaml` has."""
    text = "- func: zero(Tensor self) -> Tensor\n  dispatch:\n    CPU: zero_cpu\n  autogen: zero.out\n"
    native, known = SourceFile("native.yaml", text), SourceFile("tags.yaml", TAGS)
    catalog = load_catalog(native, known, Diagnostics(), Rules(parse_version(version)))
    assert ("out" in catalog["zero.out"].tags) is tags


def test_sources_of_functions() -> None:
    """A function knows the place of its entry; a synthesized one that of the entry it was made from."""
    text = "# A comment.\n- func: zero(Tensor self) -> Tensor\n  dispatch:\n    CPU: zero_cpu\n  autogen: zero.out\n"
    catalog, _ = load_text(text)
    assert [(function.name.text, function.entry.line, function.is_synthesized) for function in catalog] == [
        ("zero", 2, False),
        ("zero.out", 2, True),
    ]


TEXTS = [case.text for path in sorted(FOLDER.glob("*.yaml")) for case in load_cases(path.name)]
SCRAPS = [
    "", " ", "\n", "- ", ": ", "::", ",", "(", ")", "[", "]", "{", "}", "!", "*", "&a ", "~", "'", '"', "#", "é", "7",
    "True", "Tensor", "(a!)", " -> ", "structured: True", "autogen: zero.out", "\t", "null", "func: ",
]  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 2**32), st.lists(st.sampled_from(SCRAPS), max_size=4), st.booleans())
def test_no_text_gives_a_traceback(seed: int, scraps: list[str], is_tags: bool) -> None:
    """Texts made of cases, with parts removed, moved and inserted, load or give diagnostics; nothing is raised."""
    chance = random.Random(seed)
    text = "".join(chance.sample(TEXTS, 2))
    for scrap in scraps:
        start = chance.randrange(len(text) + 1)
        text = text[:start] + scrap + text[start + chance.randrange(6) :]
    _, sink = load_text("[]", text) if is_tags else load_text(text)
    for diagnostic in sink.sorted():
        assert diagnostic.span is not None
        assert diagnostic.message
