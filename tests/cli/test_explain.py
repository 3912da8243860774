"""`opwright explain` has a page for every code, and each page is fit to be read."""

from __future__ import annotations

import pkgutil
import re
import sys
from importlib import import_module

import pytest

import opwright
from opwright.cli.main import main
from opwright.source.codes import all_codes


def listed_codes(capsys: pytest.CaptureFixture[str]) -> list[str]:
    """The codes that `explain` lists, in order."""
    assert main(["explain"]) == 0
    return [line.split()[0] for line in capsys.readouterr().out.splitlines()]


def test_every_code_of_the_program_is_listed(capsys: pytest.CaptureFixture[str]) -> None:
    """However deep in the package the module is that registers it, a code is found."""
    listed = listed_codes(capsys)
    for module in pkgutil.walk_packages(opwright.__path__, "opwright."):
        if not module.name.endswith("__main__"):
            import_module(module.name)
    assert set(listed) >= {row.code for row in all_codes() if not row.code.startswith("E99")}
    assert listed == sorted(listed)


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


def test_mistakes_in_operators_have_an_example() -> None:
    """The pages of faults in schemas, entries and between entries show what is wrong."""
    for row in all_codes():
        if row.code.startswith(("E02", "E03", "E04")):
            assert re.search(r"(?m)^    \S", row.page), row.page


def test_an_unknown_code_is_wrong_usage_with_a_hint(capsys: pytest.CaptureFixture[str]) -> None:
    """A code that does not exist is answered with the nearest one."""
    assert main(["explain", "E03100"]) == 2
    assert "did you mean `E0310`?" in capsys.readouterr().err


def test_codes_need_no_setuptools(monkeypatch: pytest.MonkeyPatch) -> None:
    """The codes of builds are listed where setuptools is not installed."""
    monkeypatch.setitem(sys.modules, "setuptools", None)
    monkeypatch.delitem(sys.modules, "opwright.setuptools", raising=False)
    assert main(["explain", "E1204"]) == 0
