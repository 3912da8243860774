"""The names in the package are plain: one meaning for each, nouns of the domain for values, verbs for actions."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator

import pytest

from tests.test_layering import COPIED, absolute, modules

# Locals that say nothing of what they hold.
EMPTY_WORDS = {"one", "ones", "found", "made", "said", "kept", "known", "thing", "things", "stuff", "foo", "obj", "val"}

# Parameters that callers of PyTorch's generator name.
PARAMETERS_OF_TORCHGEN = {
    "opwright.torchgen.api.lazy val",
    "opwright.torchgen.gen_schema_utils obj",
    "opwright.torchgen.utils obj",
}


@pytest.mark.thorough
def test_locals_say_what_they_hold() -> None:
    """No parameter and no local variable has a name that would fit any value."""
    wrong = [
        f"{name}:{line} {word}"
        for name, tree in modules().items()
        for line, word in empty_locals(tree)
        if f"{name} {word}" not in PARAMETERS_OF_TORCHGEN
    ]
    assert not wrong


def empty_locals(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Line and name of each binding of a word that says nothing; fields of classes are no locals."""
    fields = {
        id(getattr(field, "target", None))
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
        for field in node.body
    }
    for node in ast.walk(tree):
        if id(node) in fields:
            continue
        word = ""
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            word = node.id
        elif isinstance(node, ast.arg):
            word = node.arg
        elif isinstance(node, ast.ExceptHandler):
            word = node.name or ""
        if word in EMPTY_WORDS:
            yield getattr(node, "lineno", 0), word


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("for one in arguments: pass", ["one"]),
        ("names = [one.name for one in arguments]", ["one"]),
        ("key = lambda found, place: found", ["found"]),
        ("def merge(one: int, other: int): ...", ["one"]),
        ("try: ...\nexcept Fault as found: ...", ["found"]),
        ("if (found := match(text)): ...", ["found"]),
        ("argument = signature.one", []),
        ("class Pair(NamedTuple):\n    one: int", []),
    ],
)
def test_empty_locals_are_seen(code: str, words: list[str]) -> None:
    """The check sees every way to bind a local variable, and leaves attributes alone."""
    assert [word for _, word in empty_locals(ast.parse(code))] == words


# The Python interface of PyTorch's generator has the names that importers use, for values of Opwright's model too.
INTERFACE = "opwright.torchgen."


def test_public_classes_are_defined_once() -> None:
    """A public class or type alias has a name that nothing else in the package has."""
    homes = defaultdict(list)
    for name, tree in modules().items():
        if name.startswith((INTERFACE, COPIED)):
            continue
        for word in public_types(tree):
            homes[word].append(name)
    wrong = {word: names for word, names in homes.items() if len(names) > 1}
    assert not wrong


def public_types(tree: ast.Module) -> Iterator[str]:
    """The names of the public classes and type aliases that a module defines."""
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            word = node.name
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            word = node.targets[0].id
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            word = node.target.id
        else:
            continue
        if re.fullmatch(r"[A-Z][A-Za-z0-9]*[a-z][A-Za-z0-9]*", word):
            yield word


def test_public_types_are_seen() -> None:
    """Classes and aliases count; constants, private classes and imported ones do not."""
    code = (
        "from a import Away\nclass Shown: ...\nclass _Hidden: ...\nAlias = int | str\nTyped: TypeAlias = str\nLIMIT = 3"
    )
    assert list(public_types(ast.parse(code))) == ["Shown", "Alias", "Typed"]


@pytest.mark.thorough
def test_a_module_goes_by_one_name() -> None:
    """A name under which modules are imported means one module everywhere, and a module has one such name."""
    by_word, by_module = defaultdict(set), defaultdict(set)
    for name, tree in modules().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom):
                for alias in node.names:
                    target = f"{absolute(name, node)}.{alias.name}"
                    if target in modules() and not target.startswith(INTERFACE):
                        by_word[alias.asname or alias.name].add(target)
                        by_module[target].add(alias.asname or alias.name)
    wrong = {word: targets for word, targets in by_word.items() if len(targets) > 1}
    wrong |= {module: words for module, words in by_module.items() if len(words) > 1}
    assert wrong == {}
