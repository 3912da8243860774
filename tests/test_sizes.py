"""Modules, functions and lists of parameters stay short enough to be read at once."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from tests.test_layering import SOURCE, modules

MODULE_LINES = 600
FUNCTION_LINES = 60
PARAMETERS = 5

# Functions that pass the fields of one record on: a diagnostic, an emitter.
# `argument` of PyTorch's generator takes all choices about one argument.
RECORD_MAKERS = {
    "file_family",
    "__init__",
    "_diagnostic",
    "_emitter",
    "argument",
    "at",
    "error",
    "fault",
    "note",
    "warning",
    "whole_file",
    # Functions of PyTorch's generator.
    "gen_headers",
    "gen_unboxing",
    "parse_yaml_files",
    "write_sharded_with_template",
}


def test_modules_are_short() -> None:
    """No module of the package is longer than a reader keeps in mind; the table of diagnostic codes may be."""
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in SOURCE.rglob("*.py")}
    long = {path: length for path, length in lengths.items() if length > MODULE_LINES and path.stem != "codes"}
    assert not long


def test_functions_are_short() -> None:
    """No function has more lines than a screen, or more parameters than a hand has fingers."""
    wrong = [f"{name}: {text}" for name, tree in modules().items() for text in oversized(tree)]
    assert not wrong


def oversized(tree: ast.AST) -> Iterator[str]:
    """The functions that are too long, or take too much, as text.

    Constructors, and functions that make one record, may take as many arguments as it has fields.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
            count = sum(argument.arg not in ("self", "cls") for argument in arguments)
            if lines > FUNCTION_LINES and node.name != "__init__":
                yield f"{node.name} has {lines} lines"
            if count > PARAMETERS and node.name not in RECORD_MAKERS:
                yield f"{node.name} takes {count} parameters"


@pytest.mark.parametrize(
    ("code", "count"),
    [
        ("def f(a, b, c, d, e): ...", 0),
        ("def f(a, b, c, d, *, e, f): ...", 1),
        ("class C:\n    def m(self, a, b, c, d, e): ...", 0),
        ("class C:\n    def __init__(self, a, b, c, d, e, f): ...", 0),
        ("def f():\n" + "    pass\n" * 59, 0),
        ("def f():\n" + "    pass\n" * 60, 1),
    ],
)
def test_oversized_functions_are_seen(code: str, count: int) -> None:
    """The check counts lines and parameters, but not `self`, and not those of a constructor."""
    assert len(list(oversized(ast.parse(code)))) == count
