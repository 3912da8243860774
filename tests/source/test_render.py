"""What diagnostics look like on a terminal and on one line."""

from __future__ import annotations

import re
import textwrap
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opwright.source.diagnostic import Diagnostics, Fault, Label
from opwright.source.render import render_short, render_terminal
from opwright.source.span import Span
from opwright.source.text import SourceFile

OPS = SourceFile("my_ops.yaml", "\n" * 12 + "  dispatch:\n      CPUU: twice_cpu\n")
LONG = SourceFile("f", "key: " + "x" * 300 + " HERE " + "y" * 200)


def span_of(file: SourceFile, part: str) -> Span:
    """The span of the first place where a file has this text."""
    start = file.text.index(part)
    return file.span(start, start + len(part))


def drawn(sink: Diagnostics) -> str:
    """The diagnostics of a sink without colour."""
    return render_terminal(sink.sorted(), color=False)


def picture(text: str) -> str:
    """A picture as a test writes it: indented, without its first line break."""
    return textwrap.dedent(text).lstrip("\n")


def test_one_label() -> None:
    """The usual diagnostic: header, place, line, carets with a label, help."""
    sink = Diagnostics()
    sink.error(
        "E0312",
        "unknown dispatch key `CPUU`",
        span_of(OPS, "CPUU"),
        label="not a dispatch key",
        help="did you mean `CPU`?",
    )
    assert drawn(sink) == picture("""
        error[E0312]: unknown dispatch key `CPUU`
          --> my_ops.yaml:14:7
           |
        14 |       CPUU: twice_cpu
           |       ^^^^ not a dispatch key
           = help: did you mean `CPU`?
        """)


def test_several_labels_on_a_line() -> None:
    """The rightmost label stands beside its mark, the others hang below theirs."""
    file = SourceFile("f", "- func: add(Tensor self) -> Tensor\n")
    sink = Diagnostics()
    also = [Label(span_of(file, "add"), "name", primary=False), Label(span_of(file, "-> Tensor"), "returns", False)]
    sink.error("E0001", "m", span_of(file, "Tensor self"), label="argument", also=also)
    assert drawn(sink) == picture("""
        error[E0001]: m
         --> f:1:13
          |
        1 | - func: add(Tensor self) -> Tensor
          |         --- ^^^^^^^^^^^  --------- returns
          |         |   |
          |         |   argument
          |         name
        """)


def test_labels_in_two_files_and_far_lines() -> None:
    """The primary file comes first; lines between two labels are left out when there are many."""
    file = SourceFile("a", "first\n" + "\n" * 9 + "last\n")
    other = SourceFile("b", "there")
    sink = Diagnostics()
    also = [Label(span_of(other, "there"), "in b", False), Label(span_of(file, "first"), "in a", False)]
    sink.warning("W0001", "m", span_of(file, "last"), label="here", also=also, notes=["one", "two\nlines"])
    assert drawn(sink) == picture("""
        warning[W0001]: m
          --> a:11:1
           |
         1 | first
           | ----- in a
        ...
        11 | last
           | ^^^^ here
          ::: b:1:1
           |
         1 | there
           | ----- in b
           = note: one
           = note: two
                   lines
        """)


def test_span_over_several_lines() -> None:
    """A span over lines has a bar at their left; its middle is left out when it is long."""
    file = SourceFile("f", "".join(f"  line {number}\n" for number in range(1, 10)))
    sink = Diagnostics()
    sink.error("E0001", "short", file.span(file.offset(2, 3), file.offset(4, 9)), label="all")
    sink.error("E0002", "long", file.span(file.offset(2, 3), len(file.text)), label="all")
    assert drawn(sink) == picture("""
        error[E0001]: short
         --> f:2:3
          |
        2 |     line 2
          |  ___^
        3 | |   line 3
        4 | |   line 4
          | |________^ all

        error[E0002]: long
         --> f:2:3
          |
        2 |     line 2
          |  ___^
        3 | |   line 3
        ... |
        8 | |   line 8
        9 | |   line 9
          | |________^ all
        """)


def test_two_spans_over_several_lines() -> None:
    """Two spans over lines have a bar each."""
    file = SourceFile("f", "ab\ncd\nef\ngh\n")
    sink = Diagnostics()
    also = [Label(file.span(file.offset(2), file.offset(4, 2)), "second", primary=False)]
    sink.error("E0001", "m", file.span(1, file.offset(3, 2)), label="first", also=also)
    assert drawn(sink) == picture("""
        error[E0001]: m
         --> f:1:2
          |
        1 |     ab
          |  ____^
        2 | |   cd
          | |  _-
        3 | | | ef
          | |___^ first
        4 |   | gh
          |   |_- second
        """)


@pytest.mark.parametrize(
    ("line", "part", "column", "width"),
    [
        ("\tkey: 1", "key", 4, 3),
        ("a\tkey", "key", 4, 3),
        ("中文: key", "key", 6, 3),
        ("中文: key", "中文", 0, 4),
        ("e\u0301e\u0301 key", "key", 3, 3),
        ("😀 key", "key", 3, 3),
        ("é key", "key", 2, 3),
        ("\x1b[31m key", "key", 6, 3),
        ("a\u202eb key", "key", 4, 3),
    ],
)
def test_carets_stand_below_their_text(line: str, part: str, column: int, width: int) -> None:
    """Tabs, wide and combining characters and controls take the columns that a terminal gives them."""
    sink = Diagnostics()
    sink.error("E0001", "m", span_of(SourceFile("f", line), part), label="x")
    carets = drawn(sink).splitlines()[4]
    assert carets == "  | " + " " * column + "^" * width + " x"


def test_points() -> None:
    """A point is one caret: at the end of a line, in an empty file, behind the last line."""
    for text, offset, line, column in (("ab\n", 2, "ab", 2), ("", 0, "", 0), ("ab\n", 3, "", 0)):
        sink = Diagnostics()
        sink.error("E0001", "m", SourceFile("f", text).span(offset))
        rows = drawn(sink).splitlines()
        assert rows[3:5] == [f"{rows[3][:3]} {line}".rstrip(), "  | " + " " * column + "^"]


def test_span_with_the_line_break() -> None:
    """A span that takes a line's break with it is drawn on that line alone."""
    sink = Diagnostics()
    sink.error("E0001", "m", SourceFile("f", "ab\r\ncd").span(0, 4), label="x")
    assert drawn(sink).splitlines()[3:] == ["1 | ab", "  | ^^ x"]


def test_long_line_is_cut_round_its_label() -> None:
    """Of a line that is too long the part round the primary label is shown, and the label stands below it."""
    sink = Diagnostics()
    sink.error("E0001", "m", span_of(LONG, "HERE"), label="x", also=[Label(span_of(LONG, "key"), "k", False)])
    source, carets = render_terminal(sink, color=False, width=80).splitlines()[3:5]
    assert len(source) <= 4 + 80 + 6
    assert source[carets.index("^") : carets.rindex("^") + 1] == "HERE"
    assert source[4:].startswith("...x")
    assert source.endswith("y...")


def test_diagnostic_without_place() -> None:
    """Without a place there is the message, and the help below it."""
    sink = Diagnostics()
    sink.error("E0501", "no inputs\nat all", help="name a source")
    assert drawn(sink) == "error[E0501]: no inputs\n  at all\n  = help: name a source\n"


def test_colour_changes_nothing_but_colour() -> None:
    """With colour the text is the same but for the escapes; without, there are none, whatever the file holds."""
    file = SourceFile("f\x1b[0m", "a: \x1b[31mred\n")
    sink = Diagnostics()
    sink.error("E0001", "m \x1b[1m", span_of(file, "red"), label="\x1b[2J", notes=["\x07"], help="\x9b", also=[])
    plain = render_terminal(sink, color=False)
    colored = render_terminal(sink, color=True)
    assert plain.replace("\n", "").isprintable()
    assert render_short(sink).replace("\n", "").isprintable()
    assert colored != plain
    assert [line.rstrip() for line in re.sub(r"\x1b\[[0-9;]*m", "", colored).splitlines()] == plain.splitlines()


def test_short() -> None:
    """One line each: place, severity, code, message, help."""
    sink = Diagnostics()
    sink.error("E0312", "unknown key\nhere", span_of(OPS, "CPUU"), help="did you mean `CPU`?")
    sink.note("W0001", "no place")
    assert render_short(sink.sorted()) == picture("""
        note[W0001]: no place
        my_ops.yaml:14:7: error[E0312]: unknown key here; did you mean `CPU`?
        """)
    assert render_short([]) == render_terminal([], color=False) == ""


@given(
    st.text(st.sampled_from("ab \t\n\r中e\u0301\x00\u202e😀"), max_size=60),
    st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60), st.booleans(), st.text(max_size=5)), max_size=5),
    st.integers(40, 100),
)
def test_anything_can_be_drawn(text: str, labels: list[tuple[int, int, bool, str]], width: int) -> None:
    """Any labels on any text are drawn, with the text of each label in the picture and no control characters."""
    file = SourceFile("f", text)
    made = [
        Label(file.span(min(a, b, len(text)), min(max(a, b), len(text))), word, primary)
        for a, b, primary, word in labels
    ]
    picture = render_terminal([Fault.at("E0001", "m", also=made).diagnostic], color=False, width=width)
    assert all(character == "\n" or unicodedata.category(character) not in ("Cc", "Cs") for character in picture)
    for label in made:
        if label.text.isalnum() and label.text.isascii():
            assert label.text in picture
