"""What the benchmark of lean files counts: includes, and sources that edits compile again."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.lean.edits import EDITS, FUNCTIONS, Edit
from bench.lean.includes import Includes, included
from bench.lean.symbols import symbols, users


def test_branches_that_the_build_leaves_out_include_nothing() -> None:
    """Both branches of a condition that is not known count."""
    text = """\
#ifndef AT_PER_OPERATOR_HEADERS
#include <ATen/Functions.h>
#else
#  include <ATen/ops/add.h>
#if SOMETHING > 1
#include "one.h"
#else
#include "two.h"
#endif
#endif
// #include "comment.h"
"""
    assert included(text) == ["ATen/ops/add.h", "one.h", "two.h"]


def test_sources_that_reach_a_changed_header_are_compiled_again(tmp_path: Path) -> None:
    """Through other headers too; a source that changed is compiled again, one that reaches no change is not."""
    files = {"a.cpp": '#include "h/b.h"\n', "h/b.h": "#include <c.h>\n", "c.h": "", "d.cpp": "", "e.cpp": ""}
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    sources = [str(tmp_path / name) for name in ("a.cpp", "d.cpp", "e.cpp")]
    again = Includes([str(tmp_path)]).compiled_again(sources, [str(tmp_path / "c.h"), str(tmp_path / "e.cpp")])
    assert again == {sources[0], sources[2]}


def test_files_that_name_symbols_of_operators_are_found(tmp_path: Path) -> None:
    """A symbol that is not in the generated header, or is in a text, does not count."""
    header = tmp_path / "aten_interned_strings.h"
    header.write_text("_(aten, add) \\\n_(attr, self)\n", encoding="utf-8")
    texts = {"a.cpp": "f(aten::add);", "b.h": "f(attr::self);", "c.cpp": 'f("aten::add");', "d.cpp": "f(aten::ATen);"}
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    assert [path.name for path in users([tmp_path], symbols(header))] == ["a.cpp", "b.h"]


def test_an_edit_says_which_text_is_missing() -> None:
    """The inputs of another release may have no such entry."""
    assert len({edit.name for edit in EDITS}) == 10
    assert Edit("new", [(FUNCTIONS, "", "b")]).apply({FUNCTIONS: "a"}) == {FUNCTIONS: "ab"}
    with pytest.raises(ValueError, match="has no 'x'"):
        Edit("other", [(FUNCTIONS, "x", "y")]).apply({FUNCTIONS: "a"})
