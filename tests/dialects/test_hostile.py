"""Work on hostile inputs is bounded: each ends soon, within little memory, with a diagnostic inside its file.

Each text was once, or would be without a limit, minutes of work or gigabytes of memory.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cache
from operator import mul

import pytest

from opwright.dialects.deprecated import load_deprecated
from opwright.dialects.derivatives.loader import load_derivatives
from opwright.dialects.native_functions.loader import load_catalog
from opwright.dialects.selection import check_selection, load_selection, selection_of_names
from opwright.model.catalog import Catalog
from opwright.source.diagnostic import Diagnostic, Diagnostics, Fault, FaultsFound
from opwright.source.render import render_report
from opwright.source.text import SourceFile
from tests.conformance.inputs import pytorch_files
from tests.conformance.mutate import NATIVE
from tests.fuzz.run import memory_limit, places_outside

pytestmark = pytest.mark.alone

SECONDS = 8.0
GROWTH_MEGABYTES = 400

TAGS = "- {tag: core, desc: x}\n"
OPERATOR = "- func: f(Tensor self, {}) -> Tensor\n"
FOLDED = r",\x20"

ENTRIES = {
    "brackets": "- func: " + "[" * 100_000,
    "braces": "{" * 100_000,
    "brackets on lines": "[\n" * 100_000,
    "dashes": "- " * 100_000,
    "open quote": '- func: "' + "\\" * 100_001,
    "quoted backslashes": "- func: f(Tensor self, str a='" + "\\" * 18_999 + ") -> Tensor\n",
    "quotes": "- func: f(Tensor self, str a=" + "\"'" * 9_000 + ") -> Tensor\n",
    "optionals": OPERATOR.format("int" + "?" * 19_000 + " a"),
    "lists": OPERATOR.format("int" + "[]" * 9_000 + " a"),
    "optional return": "- func: f(Tensor self) -> Tensor" + "?" * 19_000 + "\n",
    "default": OPERATOR.format("int[] a=[" + "1," * 9_000 + "1]"),
    "number": OPERATOR.format("int a=" + "1" * 19_000),
    "size": OPERATOR.format("int[" + "1" * 19_000 + "] a"),
    "name": "- func: " + "_" * 19_000 + "(Tensor self) -> Tensor\n",
    "namespace": "- func: " + "n" * 19_000 + "::f(Tensor self) -> Tensor\n",
    "unknown fields": "- func: f(Tensor self) -> Tensor\n" + "".join(f"  word{n}: 3\n" for n in range(25_000)),
    "repeated keys": "- func: f(Tensor self) -> Tensor\n" + "  variants: function\n" * 50_000,
    "unknown tags": "- func: f(Tensor self) -> Tensor\n  tags: [" + ",".join(f"cor{n}" for n in range(50_000)) + "]\n",
    "folded words": '- func: f(Tensor self) -> Tensor\n  autogen: "'
    + FOLDED.join(f"%f{n}" for n in range(2_500))
    + '"\n',
    "merges": "- &a0 {k: 1}\n" + "".join(f"- &a{n} {{<<: [*a{n - 1}, *a{n - 1}], x{n}: 1}}\n" for n in range(1, 60)),
    "shared tables": "- func: f(Tensor self) -> Tensor\n  dispatch: &d\n"
    + "".join(f"    CPU{n}: x\n" for n in range(900))
    + "".join(f"- func: f{n}(Tensor self) -> Tensor\n  dispatch: *d\n" for n in range(3_000)),
    "wrong entries": "".join(f"- func: f{n}() => ()\n" for n in range(25_000)),
    "one line": "[" + "a," * 29_000 + "a]",
    "anchors": "".join(f"- &a{n} x\n" for n in range(50_000)),
}
SELECTIONS = {
    "unknown operators": "operators:\n" + "".join(f"  aten::zork{n}: {{}}\n" for n in range(25_000)),
    "unknown fields": "".join(f"operators{n}: a\n" for n in range(50_000)),
    "repeated operators": "operators:\n" + "  aten::abs: {}\n" * 25_000,
}


#: What such texts repeat, and how often. They have many megabytes, so each test makes its own.
LONG = {"many values": ("- a\n", 3_000_000), "blank lines": ("\n", 15_000_000), "one character": ("#", 15_000_000)}


@cache
def pytorch_catalog() -> Catalog:
    """PyTorch's operators."""
    tags = SourceFile("tags.yaml", pytorch_files()["ATen/native/tags.yaml"].decode())
    return load_catalog(SourceFile("native_functions.yaml", pytorch_files()[NATIVE].decode()), tags, Diagnostics())


@pytest.fixture(scope="module", autouse=True)
def _loaded() -> None:
    """Load PyTorch's operators before tests are copied and measured."""
    pytorch_catalog()


def report_of(load: Callable[[Diagnostics], object]) -> tuple[Diagnostic, ...]:
    """What a loader finds, within bounds of time and memory; the report of it is short and inside the file."""
    sink = Diagnostics()
    start = time.process_time()
    with memory_limit(GROWTH_MEGABYTES):
        try:
            load(sink)
        except (Fault, FaultsFound) as raised:
            sink.take(raised)
        report = render_report(sink.sorted(), color=False)
    assert time.process_time() - start < SECONDS
    assert len(report) < 150_000
    assert not places_outside(sink)
    return sink.sorted()


@pytest.mark.parametrize("name", [*ENTRIES, *[pytest.param(name, marks=pytest.mark.thorough) for name in LONG]])
def test_entries(name: str) -> None:
    """Entries that ask for much work are refused at a place in the file."""
    file = SourceFile("native_functions.yaml", ENTRIES[name] if name in ENTRIES else mul(*LONG[name]))
    diagnostics = report_of(lambda sink: load_catalog(file, SourceFile("tags.yaml", TAGS), sink))
    assert diagnostics
    assert all(diagnostic.span is not None for diagnostic in diagnostics)


@pytest.mark.parametrize("name", SELECTIONS)
@pytest.mark.parametrize(
    "tolerant", [pytest.param(False, id="strict"), pytest.param(True, id="tolerant", marks=pytest.mark.thorough)]
)
def test_selections(name: str, tolerant: bool) -> None:
    """Selections of unknown names are checked without comparing each with all that there are."""
    file = SourceFile("selection.yaml", SELECTIONS[name])

    def load(sink: Diagnostics) -> None:
        check_selection(load_selection(file, sink), pytorch_catalog(), sink, tolerant=tolerant)

    assert report_of(load)


def test_names_on_the_command_line() -> None:
    """Fifty thousand names that do not exist are warnings or errors soon."""
    selection = selection_of_names([f"aten::zork{number}" for number in range(50_000)])
    assert report_of(lambda sink: check_selection(selection, pytorch_catalog(), sink, tolerant=True))


@pytest.mark.thorough
def test_tags() -> None:
    """Of a thousand misspelled tags, those that the report shows are compared with the tags that there are."""
    tags = SourceFile("tags.yaml", "".join(f"- tag: taggy{number}\n  desc: x\n" for number in range(1_000)))
    text = "".join(f"- func: f{n}(Tensor self) -> Tensor\n  tags: tagy{n}x\n" for n in range(1_000))
    diagnostics = report_of(lambda sink: load_catalog(SourceFile("native_functions.yaml", text), tags, sink))
    assert str(diagnostics[0].help).startswith("did you mean")


@pytest.mark.thorough
def test_very_many_tags() -> None:
    """Among more names than any release has, no name is searched."""
    tags = SourceFile("tags.yaml", "".join(f"- tag: taggy{number}\n  desc: x\n" for number in range(20_000)))
    text = "".join(f"- func: f{n}(Tensor self) -> Tensor\n  tags: tagy{n}x\n" for n in range(2_000))
    diagnostics = report_of(lambda sink: load_catalog(SourceFile("native_functions.yaml", text), tags, sink))
    assert str(diagnostics[0].help) == ""


@pytest.mark.parametrize(
    "entry",
    [
        "".join(f"- name: f{n}(Tensor self) -> Tensor\n  self: grad\n" for n in range(12_000)),
        "- name: abs(Tensor self) -> Tensor\n" + "".join(f"  w{n}: grad\n" for n in range(15_000)),
        "- name: abs(Tensor self) -> Tensor\n  self: grad" + "(" * 19_000 + "\n",
        "- name: abs(Tensor self) -> Tensor\n  self: grad" + "".join(f" + w{n}" for n in range(2_500)) + "\n",
        "- name: abs(Tensor self) -> Tensor\n  self: 'grad + \"" + "\\" * 19_000 + "'\n",
        "- name: abs(Tensor self) -> Tensor\n  self: grad" + " + f(grad" * 2_000 + "\n",
        "- name: abs(Tensor self) -> Tensor\n  self: " + "grad < " * 2_500 + "grad\n",
        "- name: abs(Tensor self) -> Tensor\n  self: " + "grads[0]" * 2_300 + "\n",
    ],
    ids=["entries", "keys", "brackets", "words", "backslashes", "calls", "comparisons", "indices"],
)
@pytest.mark.parametrize("strict", [pytest.param(False, marks=pytest.mark.thorough), True])
def test_derivatives(entry: str, strict: bool) -> None:
    """Formulas and entries without end are read in time."""
    file = SourceFile("derivatives.yaml", entry)
    report_of(lambda sink: load_derivatives(file, pytorch_catalog(), sink, strict=strict))


@pytest.mark.parametrize(
    "entry",
    [
        "".join(f"- name: f{n}(Tensor self) -> Tensor\n  aten: g(self)\n" for n in range(12_000)),
        "- name: f(Tensor self) -> Tensor\n  aten: abs(" + ", ".join(f"w{n}" for n in range(2_500)) + ")\n",
        "- name: f(Tensor self) -> Tensor\n  aten: abs" + "(" * 19_000 + "\n",
    ],
    ids=["entries", "values", "brackets"],
)
def test_deprecated_signatures(entry: str) -> None:
    """Deprecated signatures without end are refused in time."""
    file = SourceFile("deprecated.yaml", entry)
    assert report_of(lambda sink: load_deprecated(file, pytorch_catalog().functions, sink))
