"""`opwright explain` has a page for every code, and each page is fit to be read."""

from __future__ import annotations

import re

import pytest

from opwright.cli.main import main
from opwright.plugins.code_pages import code_names


def listed_codes(capsys: pytest.CaptureFixture[str]) -> list[str]:
    """The codes that `explain` lists, in order."""
    assert main(["explain"]) == 0
    return [line.split()[0] for line in capsys.readouterr().out.splitlines()]


def test_every_code_is_listed(capsys: pytest.CaptureFixture[str]) -> None:
    """Without names, the command lists all codes, in order."""
    assert listed_codes(capsys) == list(code_names())


def test_pages_are_well_formed(capsys: pytest.CaptureFixture[str]) -> None:
    """A page is its title, an empty line, and paragraphs from the first column on, with no stray space."""
    for code in listed_codes(capsys):
        assert main(["explain", code.lower()]) == 0
        page = capsys.readouterr().out
        lines = page.splitlines()
        assert re.fullmatch(rf"{code}: \S.*\S", lines[0]), page
        assert lines[1] == ""
        assert re.match(r"[\S]", lines[2]), page
        assert lines[-1].strip(), page
        assert "\n\n\n" not in page, page
        assert all(line == line.rstrip() and len(line) <= 120 for line in lines), page


def test_an_unknown_code_is_wrong_usage_with_a_hint(capsys: pytest.CaptureFixture[str]) -> None:
    """A code that does not exist is answered with the nearest one."""
    assert main(["explain", "E03100"]) == 2
    assert "did you mean `E0310`?" in capsys.readouterr().err
