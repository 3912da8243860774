"""The sentences of pages and messages that have the words of claims."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
#: The words of claims about equality, completeness and safety.
WORDS: Final = re.compile(
    r"\b(?:never(?! closed)|always|alike|identical|byte for byte|guarantee\w*|no findings?|(?:0|no|zero) differences?"
    r"|(?:all|every) mistakes?|mistakes of all"
    r"|same (?:bytes|files|outputs?|results?|gradients|symbols)|whatever|nothing (?:else|outside|breaks)"
    r"|nothing is (?:computed|compiled|written|lost)|\d[\d,]* (?:are equal|agree|pass)|all \d[\d,]*)\b",
    re.IGNORECASE,
)
#: Pages that are made from the program, whose texts are messages of it.
_GENERATED: Final = ("docs/api.md", "docs/command-line.md", "docs/diagnostics.md")
#: This page names its tests itself, which `tests/test_security.py` checks.
_WITH_OWN_TESTS: Final = ("SECURITY.md",)
_CODE: Final = re.compile(r"(?ms)^```.*?^```$|^    .*?$")
_END: Final = re.compile(r"(?<=[.!?:;])\s+|\n\s*\n|\n(?=\s*(?:[-*|#]|\d+\. ))")


def pages() -> list[str]:
    """The pages that people read, from the root of the project."""
    found = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("src/opwright/source/diagnostics/*.md")]
    names = sorted(path.relative_to(ROOT).as_posix() for path in found)
    return [name for name in names if name not in (*_GENERATED, *_WITH_OWN_TESTS, "CHANGELOG.md")]


def plain(text: str) -> str:
    """A text on one line."""
    return " ".join(text.split())


def sentences(text: str) -> list[str]:
    """The sentences of a page, without its blocks of code."""
    return [plain(part) for part in _END.split(_CODE.sub("", text)) if part.strip()]


def modules() -> list[str]:
    """The modules of the package, from the root of the project."""
    return sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "src").rglob("*.py"))


def messages(text: str, *, with_docstring: bool = False) -> Iterator[str]:
    """The texts in the code of a module, with `{}` for values; docstrings are none, but help is the one of a module."""
    tree = ast.parse(text)
    bare = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    parts = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    if with_docstring:
        yield from sentences(ast.get_docstring(tree) or "")
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield plain("".join([str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values]))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in bare | parts:
            yield plain(node.value)


def claims() -> Iterator[tuple[str, str]]:
    """Each file with each of its sentences that has the words of claims."""
    for name in pages():
        for sentence in sentences((ROOT / name).read_text(encoding="utf-8")):
            if WORDS.search(sentence):
                yield name, sentence
    for name in modules():
        text = (ROOT / name).read_text(encoding="utf-8")
        for message in messages(text, with_docstring="/cli/" in name):
            if WORDS.search(message) and " " in message:
                yield name, message
