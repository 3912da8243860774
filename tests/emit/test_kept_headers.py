"""Headers that are kept in a source tree are compared with what is generated."""

from __future__ import annotations

from pathlib import Path

from opwright.run.generation import check_kept_headers
from opwright.source.diagnostic import Diagnostics, Severity
from opwright.source.render import render_short, render_terminal

_OLD = "#pragma once\nint first(int a);\nint second(int a);\n"


def _found(folder: Path, text: str) -> Diagnostics:
    sink = Diagnostics()
    check_kept_headers([("shim.h", text)], str(folder), sink)
    return sink


def test_same_header_is_silent(tmp_path: Path) -> None:
    """A kept header that equals the generated one is not spoken of, whatever its line breaks."""
    (tmp_path / "shim.h").write_bytes(_OLD.replace("\n", "\r\n").encode())
    assert not _found(tmp_path, _OLD).sorted()


def test_missing_headers_are_one_note(tmp_path: Path) -> None:
    """Where headers are not kept, one note names the folder and all of them, and nothing is wrong."""
    (tmp_path / "kept.h").write_text(_OLD)
    sink = Diagnostics()
    check_kept_headers([("first.h", _OLD), ("kept.h", _OLD), ("second.h", _OLD)], str(tmp_path), sink)
    (note,) = sink.sorted()
    assert note.severity is Severity.NOTE
    assert note.message == f"no header to compare with in `{tmp_path}` for `first.h`, `second.h`"
    assert not sink.has_errors


def test_change_is_shown_at_its_line(tmp_path: Path) -> None:
    """A change is an error at the first line that differs, with the difference as a note."""
    (tmp_path / "shim.h").write_text(_OLD)
    sink = _found(tmp_path, _OLD.replace("second(int a)", "second(int a, int b)"))
    assert "shim.h:3:1: error[E0801]" in render_short(sink)
    shown = render_terminal(sink, color=False)
    assert "-int second(int a);" in shown
    assert "+int second(int a, int b);" in shown


def test_lines_added_at_the_end_are_a_change(tmp_path: Path) -> None:
    """A header that only grew is reported behind the last line that is kept."""
    (tmp_path / "shim.h").write_text(_OLD)
    assert "shim.h:4:1: error[E0801]" in render_short(_found(tmp_path, _OLD + "int third();\n"))


def test_folder_in_place_of_a_header_is_a_fault(tmp_path: Path) -> None:
    """What cannot be read as a file is reported as such."""
    (tmp_path / "shim.h").mkdir()
    assert _found(tmp_path, _OLD).has_errors
