"""Source files and spans: offsets, lines, columns and bytes agree with the file."""

from __future__ import annotations

import os
import pickle
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opwright.source.diagnostic import Fault
from opwright.source.render import render_terminal
from opwright.source.span import Span
from opwright.source.text import SourceFile

TEXTS = st.text(st.sampled_from("ab é中😀\t\n\r\x85\u2028\x0c"), max_size=30)


@given(TEXTS)
def test_place_and_offset_are_inverse(text: str) -> None:
    """Each offset has one line and column, which lead back to it."""
    file = SourceFile("f", text)
    for offset in range(len(text) + 1):
        assert file.offset(*file.line_and_column(offset)) == offset


@given(TEXTS)
def test_lines_are_those_of_an_editor(text: str) -> None:
    """Lines break at the three usual line breaks, and at no other character."""
    file = SourceFile("f", text)
    expected = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    assert [file.line_text(line) for line in range(1, file.line_count + 1)] == expected


@given(TEXTS, st.booleans())
def test_bytes_of_a_span(text: str, has_mark: bool) -> None:
    """A span's byte offsets cut its text out of the file's bytes, byte order mark or not."""
    data = (b"\xef\xbb\xbf" if has_mark else b"") + text.encode()
    file = SourceFile.decode("f", data)
    for start in range(len(text) + 1):
        span = file.span(start, min(start + 2, len(text)))
        assert data[span.byte_start : span.byte_end].decode() == span.text


def test_place_outside_the_text_is_its_edge() -> None:
    """An offset before or behind the text has the place of the nearest edge."""
    file = SourceFile("f", "ab\nc")
    assert file.line_and_column(-5) == (1, 1)
    assert file.line_and_column(99) == (2, 2)
    assert file.line_text(0) == file.line_text(3) == ""


def test_span_knows_its_place() -> None:
    """A span has the line and column of its start, and prints as an editor's link."""
    span = SourceFile("dir/f.yaml", "one\ntwo three\n").span(8, 13)
    assert (span.line, span.column, span.text, str(span)) == (2, 5, "three", "dir/f.yaml:2:5")
    assert span.part(1, 3).text == "hr"
    assert span == Span(span.file, 8, 13)


def test_read_keeps_line_breaks(tmp_path: Path) -> None:
    """A file's line breaks stay as they are and its byte order mark goes."""
    path = tmp_path / "f.yaml"
    path.write_bytes(b"\xef\xbb\xbfa\r\nb\rc\n")
    file = SourceFile.read(path)
    assert file.text == "a\r\nb\rc\n"
    assert file.path == str(path)
    assert file.span(3).byte_start == 6


def fault_of(path: Path | str) -> Fault:
    """The fault that reading a path raises."""
    with pytest.raises(Fault) as caught:
        SourceFile.read(path)
    return caught.value


def test_missing_file(tmp_path: Path) -> None:
    """A path to nothing, and a path through a file, name what is missing."""
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "none.yaml", tmp_path / "file" / "below"):
        fault = fault_of(path)
        assert fault.diagnostic.code == "E0001"
        assert str(path) in fault.diagnostic.message


def test_unreadable_file(tmp_path: Path) -> None:
    """A folder, a forbidden file and an impossible path are faults, not tracebacks."""
    assert fault_of(tmp_path).diagnostic.code == "E0002"
    assert fault_of("a\0b").diagnostic.code == "E0002"
    locked = tmp_path / "locked"
    locked.write_text("")
    locked.chmod(0)
    if not os.access(locked, os.R_OK):
        assert fault_of(locked).diagnostic.code == "E0002"


@pytest.mark.parametrize(
    ("data", "place", "byte"),
    [
        (b"ab\ncd\xe9f\n", (2, 3), "0xe9 at offset 5"),
        (b"\xef\xbb\xbf\xc3\xa9\xff", (1, 2), "0xff at offset 5"),
        (b"\xff\xfea\x00", (1, 1), "0xff at offset 0"),
        (b"ok\xe4\xb8", (1, 3), "0xe4 at offset 2"),
    ],
)
def test_file_that_is_not_utf8(tmp_path: Path, data: bytes, place: tuple[int, int], byte: str) -> None:
    """The fault has the place of the first byte that is not UTF-8, and its line can be shown."""
    path = tmp_path / "f.yaml"
    path.write_bytes(data)
    fault = fault_of(path)
    span = fault.diagnostic.span
    assert span is not None
    assert (fault.diagnostic.code, span.line, span.column) == ("E0003", *place)
    assert byte in fault.diagnostic.message
    assert "not UTF-8" in render_terminal([fault.diagnostic], color=False)


def test_spans_and_faults_travel_between_processes() -> None:
    """A fault keeps its diagnostic when it is pickled, as it is on its way from a worker."""
    fault = Fault.at("E0001", "message", SourceFile("f", "text").span(1, 2), label="here")
    again = pickle.loads(pickle.dumps(fault))
    assert str(again) == str(fault) == "f:1:2: error[E0001]: message"
