"""Hints as the stub files of torch have them: data from hand, overloads and docstrings."""

from __future__ import annotations

import ast
import inspect
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opwright.emit.torch_stubs import hand_written
from opwright.emit.torch_stubs.hand_written import listed_names, written_hints
from opwright.emit.torch_stubs.hints import docstring_lines, hint_with_docstring
from opwright.release.rules import Rules
from opwright.release.version import RELEASES

FILES = ("functions", "methods", "nn", "nn_functional")
ALL_RULES = [Rules(release.version) for release in RELEASES]
DIRECTIVES = re.compile(r"#: (?:section [\w ]+|(?:(?:since|until) 2\.\d+|named \w+)(?:, (?:until 2\.\d+|named \w+))*)")


@pytest.mark.parametrize("file", FILES)
def test_hand_written_hints_are_python(file: str) -> None:
    """Each hint of each release is one statement that declares something, and no comment is misspelt."""
    comments = [line for line in hand_written._text(f"{file}.txt").splitlines() if line.startswith("#:")]
    assert [comment for comment in comments if not DIRECTIVES.fullmatch(comment)] == []
    for rules in ALL_RULES:
        for hint in written_hints(file, rules):
            (statement,) = ast.parse(hint.text).body
            assert isinstance(statement, ast.FunctionDef | ast.AnnAssign)


@pytest.mark.parametrize("file", FILES)
def test_no_hint_is_there_twice(file: str) -> None:
    """In each release the hints of a name differ."""
    for rules in ALL_RULES:
        hints = written_hints(file, rules)
        assert len(set(hints)) == len(hints) > 10


def test_hints_follow_their_releases() -> None:
    """A method that 2.10 renamed, an attribute that 2.13 removed, and a dtype that 2.14 added."""
    releases = [rules for rules in ALL_RULES if rules.torch_stub_files]
    names = [{hint.name for hint in written_hints("methods", rules)} for rules in releases]
    assert ["_make_dtensor" in row for row in names] == [True] + [False] * 6
    assert ["_dtensor__new__" in row for row in names] == [False] + [True] * 6
    assert ["has_names" in row for row in names] == [True] * 4 + [False] * 3
    dtypes = [{dtype.name for dtype in listed_names("dtypes", rules)} for rules in releases]
    assert ["bcomplex32" in row for row in dtypes] == [False] * 5 + [True] * 2


@given(st.text(alphabet="ab \t\n\r\x0c", max_size=40))
def test_docstrings_lose_the_indentation_that_lines_share(text: str) -> None:
    """As Python's function does it for docstrings."""
    text = text.strip()
    assert docstring_lines(text) == inspect.cleandoc(text).strip().splitlines()


def test_docstrings_stand_below_declarations_of_several_lines() -> None:
    """The last line loses its dots, also where the formatter is told to skip it; lines lose blanks at their ends."""
    hint = "def f(\n    x: Tensor,\n) -> tuple[Tensor]:  # fmt: skip\n    ..."
    documented = hint_with_docstring(hint, ["Calls.  ", "  f"])
    assert documented == (
        'def f(\n    x: Tensor,\n) -> tuple[Tensor]:  # fmt: skip\n    r"""\n    Calls.\n      f\n    """'
    )
