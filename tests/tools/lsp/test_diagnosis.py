"""Diagnostics after an edit are those that a check of the whole file finds."""

from __future__ import annotations

from pathlib import Path

import pytest

from opwright.source.text import SourceFile
from opwright.tools.check.findings import CheckedFiles, find
from opwright.tools.check.suppressions import CodeFilter
from opwright.tools.lsp.diagnosis import diagnostic_rows, quick_report
from opwright.tools.lsp.project import DiagnosticRow, FileReport
from tests.tools.lsp.small_tree import SmallTree

#: What an edit replaces, with what, and the codes of the errors afterwards.
_EDITS = [
    ("half(Tensor self)", "half(Tensro self)", ["E0202"]),
    ("  tags: core", "  tags: croe", ["E0335"]),
    ("# The operators", "# More\n# lines. The operators", []),
    ("- func: half(Tensor self)", "- func: scale(Tensor self, Scalar factor)", ["E0410"]),
    ("by=[]) -> Tensor", "by=[] -> Tensor", ["E0205"]),
    ("  cpp_no_default_args: [by]", "  cpp_no_default_args: [by", ["E0113"]),
    ("  variants: function, method", "  variants: function, metod", ["E0305"]),
]


def _check(file: SourceFile) -> list[DiagnosticRow]:
    files = CheckedFiles((file.path,), texts=(file,))

    def no_release() -> None:
        raise AssertionError("the file is in a tree")

    return diagnostic_rows(find(files, CodeFilter(), no_release).diagnostics)  # type: ignore[arg-type]


def _errors(rows: list[DiagnosticRow]) -> set[tuple[str, str, int]]:
    return {
        (row["code"], row["message"], row["place"]["start"]["offset"]) for row in rows if row["severity"] == "error"
    }


@pytest.mark.parametrize(("old", "new"), [(old, new) for old, new, _ in _EDITS])
def test_an_edit_is_answered_like_a_whole_check(tmp_path: Path, old: str, new: str) -> None:
    """The errors that are known at once are those of a whole check, at the same places."""
    tree = SmallTree(tmp_path)
    before = tree.open("native_functions.yaml")
    last = FileReport(before, _check(before))
    assert not _errors(last.rows)
    after = tree.open("native_functions.yaml", before.text.replace(old, new, 1))
    report = quick_report(tree.project, after, last)
    assert report is not None
    assert _errors(report.rows) == _errors(_check(after))


@pytest.mark.parametrize(("old", "new", "codes"), _EDITS)
def test_an_edit_back_takes_errors_away(tmp_path: Path, old: str, new: str, codes: list[str]) -> None:
    """Errors stay at their entry while others are edited, and go when the entry is right again."""
    tree = SmallTree(tmp_path)
    before = tree.open("native_functions.yaml")
    wrong = tree.open("native_functions.yaml", before.text.replace(old, new, 1))
    last = FileReport(wrong, _check(wrong))
    assert sorted({code for code, _, _ in _errors(last.rows)}) == codes
    right = tree.open("native_functions.yaml", before.text)
    report = quick_report(tree.project, right, last)
    assert report is not None
    assert not _errors(report.rows)
