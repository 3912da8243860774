"""Each sentence of SECURITY.md that promises something names tests, and these exist."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parent.parent

_TEST = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")
#: How sentences begin that promise nothing: they say what others do not promise.
LIMITS = (
    "It trusts the index itself.",
    "What is code by design is listed below.",
    "Whoever compiles generated code trusts its inputs.",
)


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


def sentences(promise: str) -> list[str]:
    """The sentences of a promise, each on one line."""
    return re.split(r"(?<=[.!?]) (?=[A-Z`])", " ".join(promise.removeprefix("- ").split()))


def test_each_sentence_names_a_test() -> None:
    """There are promises, and no sentence of them is without a test, but for those that limit others."""
    all_sentences = [sentence for promise in promises() for sentence in sentences(promise)]
    assert len(all_sentences) > len(promises())
    without = [sentence for sentence in all_sentences if not _TEST.search(sentence)]
    assert [sentence for sentence in without if not sentence.startswith(LIMITS)] == []
    assert [limit for limit in LIMITS if not any(sentence.startswith(limit) for sentence in without)] == []


def test_named_tests_exist() -> None:
    """Each name of a test, and each path below `tests`, on the page is that of a test that exists."""
    text = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    named = _TEST.findall(text)
    assert len(named) == text.count("tests/")
    assert [f"{path}::{name}" for path, name in named if name not in functions_of(path)] == []
