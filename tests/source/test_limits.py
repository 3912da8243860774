"""What a report, a sink and a file are bounded by."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from opwright.source import limits
from opwright.source.diagnostic import Diagnostics, Fault, FaultsFound, did_you_mean
from opwright.source.render import render_report, render_terminal
from opwright.source.text import SourceFile
from opwright.tools.dump.document import DUMP_BYTES

FILE = SourceFile("ops.yaml", "word\n" * 5_000)


def test_sink_stops_after_a_thousand_errors() -> None:
    """With the last error that a sink keeps it raises all of them; warnings and notes beyond are dropped."""
    sink = Diagnostics()
    for number in range(2 * limits.REMARKS):
        sink.warning("W0001", f"warning {number}")
    for number in range(limits.ERRORS - 1):
        sink.error("E0001", f"error {number}", FILE.span(5 * number))
    with pytest.raises(FaultsFound) as caught:
        sink.error("E0001", "the last one")
    assert len(caught.value.diagnostics) == limits.ERRORS + limits.REMARKS
    other = Diagnostics()
    other.extend(caught.value.diagnostics)
    other.take(caught.value)
    assert len(other) == limits.ERRORS + limits.REMARKS


def test_report_shows_a_hundred_errors_first() -> None:
    """A report shows errors before warnings, in the order of the file, and counts what it does not show."""
    sink = Diagnostics()
    for number in range(500):
        sink.warning("W0001", "doubt", FILE.span(5 * number, 5 * number + 4))
    for number in range(90):
        sink.error("E0001", "fault", FILE.span(20_000 + 5 * number, 20_004 + 5 * number))
    report = render_report(sink.sorted(), color=False)
    assert report.count("warning[W0001]") == 10
    assert report.count("error[E0001]") == 90
    assert re.findall(r"ops.yaml:(\d+)", report)[:11] == [*map(str, range(1, 11)), "4001"]
    assert report.endswith("\nand 490 more\n")
    few = sink.sorted()[:100]
    assert render_report(few, color=False) == render_terminal(few, color=False)


def test_report_says_that_the_run_stopped() -> None:
    """A report of as many errors as a sink keeps says that the run stopped there."""
    sink = Diagnostics()
    sink.extend([Fault.at("E0001", f"error {number}").diagnostic for number in range(limits.ERRORS)])
    assert render_report(sink.sorted(), color=False).endswith("\nand 900 more; stopped after 1,000 errors\n")


def test_names_are_searched_for_shown_diagnostics_only() -> None:
    """A sink full of errors costs no search for the nearest name; a report searches for those that it shows."""
    searches = []

    class Names(list[str]):
        def __iter__(self) -> Iterator[str]:
            searches.append(1)
            return super().__iter__()

    names = Names(f"name_{number}" for number in range(1_000))
    sink = Diagnostics()
    for number in range(500):
        sink.error("E0001", f"error {number}", help=did_you_mean("nome_7", names))
    assert sink.sorted()
    assert not searches
    report = render_report(sink.sorted(), color=False)
    assert (report.count("did you mean `name_7`?"), len(searches)) == (limits.SHOWN, limits.SHOWN)


def test_long_words_and_too_many_names_are_not_searched() -> None:
    """No word of unusual length is searched for, and no word among more names than PyTorch will have."""
    assert did_you_mean("n" * 300, ["n" * 299]) == ""
    assert did_you_mean("nome_7", [f"name_{number}" for number in range(limits.NAMES + 1)]) == ""


@pytest.mark.alone
def test_long_lines_and_messages_are_cut() -> None:
    """Of a line of millions of characters only the part round its label is drawn, and a message ends somewhere."""
    text = SourceFile("ops.yaml", "x" * 3_000_000 + "LABEL" + "y" * 3_000_000)
    fault = Fault.at("E0001", "m" * 100_000, text.span(3_000_000, 3_000_005), label="l" * 100_000, help="h" * 100_000)
    start = time.process_time()
    picture = render_terminal([fault.diagnostic], color=False)
    assert time.process_time() - start < 1
    assert len(picture) < 5_000
    source, carets = picture.splitlines()[3:5]
    assert source[carets.index("^") :].startswith("LABELyy")
    assert source[: carets.index("^")].endswith("xx")
    assert "...xx" in source


def test_long_line_with_a_label_at_its_start() -> None:
    """The window of a long line keeps the columns of labels near the line's start."""
    text = SourceFile("ops.yaml", "ab: LABEL" + "y" * 10_000)
    picture = render_terminal([Fault.at("E0001", "m", text.span(4, 9)).diagnostic], color=False)
    source, carets = picture.splitlines()[3:5]
    assert source.startswith("1 | ab: LABELyyy")
    assert carets == "  |     ^^^^^"


def test_large_file_is_not_read(tmp_path: Path) -> None:
    """A file of more than 16 million bytes is refused with its path, and no more than that is read of it."""
    path = tmp_path / "ops.yaml"
    with path.open("wb") as stream:
        stream.truncate(2**40)
    with pytest.raises(Fault) as caught:
        SourceFile.read(path)
    assert str(caught.value).startswith(f"{path}:1:1: error[E0004]")
    assert len(SourceFile.decode("ops.yaml", b"x" * limits.FILE_BYTES).text) == limits.FILE_BYTES
    with pytest.raises(Fault):
        SourceFile.decode("ops.yaml", b"x" * (limits.FILE_BYTES + 1))


def test_dumps_may_be_larger(tmp_path: Path) -> None:
    """A dump may have more bytes than an input file, since it says more of each operator."""
    path = tmp_path / "dump.json"
    path.write_bytes(b" " * (limits.FILE_BYTES + 1))
    assert len(SourceFile.read(path, DUMP_BYTES).text) == limits.FILE_BYTES + 1


def test_spans_stay_inside_their_text() -> None:
    """A span that is asked for beyond the end of a text ends where the text does."""
    text = SourceFile("ops.yaml", "abc")
    assert [text.span(start, end)[1:] for start, end in ((3, 4), (9, 12), (2, 9))] == [(3, 3), (3, 3), (2, 3)]
    assert text.span(9)[1:] == (3, 3)
