"""Each promise of SECURITY.md names tests, and these exist."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parent.parent

_TEST = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")


def promises() -> list[str]:
    """The bullets of the page's part on promises."""
    text = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    part = text.partition("## What Opwright promises\n")[2].partition("\n## ")[0]
    return re.findall(r"(?m)^- .*(?:\n  .*)*", part)


def functions_of(path: str) -> set[str]:
    """The names of the functions of a module; none if there is no such file."""
    file = ROOT / path
    tree = ast.parse(file.read_text(encoding="utf-8") if file.is_file() else "")
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def test_each_promise_names_a_test() -> None:
    """There are promises, and none without a test."""
    assert promises()
    assert [promise for promise in promises() if not _TEST.search(promise)] == []


def test_named_tests_exist() -> None:
    """Each name of a test, and each path below `tests`, on the page is that of a test that exists."""
    text = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    named = _TEST.findall(text)
    assert len(named) == text.count("tests/")
    assert [f"{path}::{name}" for path, name in named if name not in functions_of(path)] == []
