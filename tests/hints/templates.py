"""The texts of all hints in the program's source: what is given as `help` of a diagnostic, with `{}` for values."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import opwright

__all__ = ["hints", "pattern_of"]

_SOURCE = Path(opwright.__file__).parent
#: Functions whose `help` describes a parameter of a command or of a file, and no diagnostic.
_DESCRIBING = {"_replace", "add", "add_argument", "add_parser", "switch", "text", "texts"}


def hints() -> dict[str, str]:
    """Each text with a place in the source."""
    places: dict[str, str] = {}
    for path in sorted(_SOURCE.rglob("*.py")):
        for line, text in _file_hints(ast.parse(path.read_text(encoding="utf-8"))):
            places.setdefault(text, f"{path.relative_to(_SOURCE)}:{line}")
    return places


@cache
def pattern_of(text: str) -> re.Pattern[str]:
    """What a hint of this text looks like."""
    return re.compile(".*?".join(map(re.escape, text.split("{}"))), re.DOTALL)


def _file_hints(tree: ast.Module) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        values: list[ast.expr] = []
        if isinstance(node, ast.Call):
            name = getattr(node.func, "id", getattr(node.func, "attr", ""))
            if name not in _DESCRIBING:
                values = [keyword.value for keyword in node.keywords if keyword.arg == "help"]
            if name.startswith("did_you_mean"):
                values += node.args[2:]
        elif isinstance(node, ast.Assign) and any(_is_help(target) for target in node.targets):
            values = [node.value]
        elif isinstance(node, ast.FunctionDef) and node.name.endswith("_help"):
            values = [part.value for part in ast.walk(node) if isinstance(part, ast.Return) and part.value is not None]
        for value in values:
            for text in _texts(value):
                yield value.lineno, text


def _is_help(target: ast.expr) -> bool:
    return isinstance(target, ast.Name) and target.id in ("help", "_HELP", "OWN_HELP", "SAME_ARGUMENTS", "THREE_WAYS")


def _texts(value: ast.expr) -> Iterator[str]:
    if isinstance(value, ast.Constant) and isinstance(value.value, str) and value.value:
        yield value.value
    elif isinstance(value, ast.JoinedStr):
        yield "".join([str(part.value) if isinstance(part, ast.Constant) else "{}" for part in value.values])
    elif isinstance(value, ast.IfExp):
        yield from _texts(value.body)
        yield from _texts(value.orelse)
    elif isinstance(value, ast.BoolOp):
        for part in value.values:
            yield from _texts(part)
    elif isinstance(value, ast.Call) and getattr(value.func, "id", "").startswith("did_you_mean"):
        yield "did you mean `{}`?"
