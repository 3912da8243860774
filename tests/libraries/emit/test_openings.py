"""The beginnings of generated modules: real modules, which are copied."""

from __future__ import annotations

import ast
import importlib
import itertools
import random
import re
from pathlib import Path

import pytest

from opwright.libraries.emit import openings
from opwright.libraries.emit.openings import NAMESPACE, opening, opening_body, opening_source
from opwright.libraries.emit.python.registering import IMPLEMENTATIONS, REGISTERING

FOLDER = Path(openings.__file__).parent
NAMES = sorted(path.stem for path in FOLDER.glob("[!_]*.py"))

TAKEN = re.compile(rf"^from {openings.__name__}\.(\w+) import (\([^)]*\)|.*)", re.MULTILINE)
"""What an opening takes from another one: the name of this, and names in it."""


def joins() -> list[tuple[str, ...]]:
    """The openings that emitters join: those of their tables, and each other one with those from which it takes."""
    joined = {module.openings for module in (*REGISTERING, IMPLEMENTATIONS)}
    listed = {name for names in joined for name in names}
    others = [name for name in NAMES if name not in listed]
    return sorted(joined | {(*dict(TAKEN.findall(opening_source(name))), name) for name in others})


JOINED = joins()


def test_all_are_used() -> None:
    """Each module of the folder is named by an emitter."""
    emitters = "\n".join([path.read_text() for path in FOLDER.parent.rglob("*.py") if path.parent != FOLDER])
    assert [name for name in NAMES if f'"{name}"' not in emitters] == []


@pytest.mark.parametrize("names", JOINED, ids="+".join)
def test_joined_modules_stand_alone(names: tuple[str, ...]) -> None:
    """A joined module imports nothing of Opwright, has each name once, and defines what one takes from another."""
    tree = ast.parse(opening(*names, values={NAMESPACE: "acme"}))
    imports = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    aliases = [(node, alias) for node in imports for alias in node.names]
    assert not [node for node in imports if isinstance(node, ast.ImportFrom) and "opwright" in str(node.module)]
    defined = [alias.asname or alias.name for _, alias in aliases]
    defined += [node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    assigned = [node for node in tree.body if isinstance(node, ast.Assign | ast.AnnAssign)]
    targets = [
        target for node in assigned for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
    ]
    defined += [target.id for target in targets if isinstance(target, ast.Name)]
    assert sorted(set(defined)) == sorted(defined)
    taken = [text for name in names for _, text in TAKEN.findall(opening_source(name))]
    assert {name for text in taken for name in re.findall(r"\w+", text)} <= set(defined)


def test_values_take_the_place_of_names_in_braces() -> None:
    """Texts and literals become what the library has, and the comment for checkers stands below the docstring."""
    values = {NAMESPACE: "acme", "{digest}": "12", '("{modules}",)': "('m',)", 'bool("{reads_binary}")': "True"}
    text = opening("cache_keys", values=values)
    assert text.startswith('"""Tells PyTorch\'s caches of compiled programs what `acme` declares.')
    assert '\n"""\n# mypy: ignore-errors\n' in text
    assert "\n_DECLARED = \"12\"\n_MODULES = ('m',)\n_READS_BINARY = True\n" in text
    assert text.endswith('\n\n\n_add("acme")\n')


def test_bodies_have_no_imports() -> None:
    """A body is for a text with imports of its own."""
    for name in NAMES:
        tree = ast.parse(opening_body(name))
        assert not [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]


def test_sums_of_strides_are_found() -> None:
    """Whether two tensors share an element, by all sums of a few strides."""
    reaches = importlib.import_module(f"{openings.__name__}.overlap")._reaches
    drawn = random.Random(7)
    found = 0
    for _ in range(3000):
        steps = []
        for _ in range(drawn.randint(0, 4)):
            low, high = sorted([drawn.randint(-4, 4), drawn.randint(-4, 4)])
            # Steps that may stay where they are, as those between elements.
            steps.append((drawn.randint(0, 7), min(low, 0), max(high, 0)))
        distance = drawn.randint(-20, 20)
        counts = itertools.product(*[range(low, high + 1) for _, low, high in steps])
        wanted = any(sum(n * step[0] for n, step in zip(each, steps, strict=True)) == distance for each in counts)
        assert reaches(steps, distance) == wanted, (steps, distance)
        found += wanted
    assert 500 < found < 2500
