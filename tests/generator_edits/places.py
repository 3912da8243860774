"""Places of the generator's modules, and an edit of each that can change what the generator writes."""

from __future__ import annotations

import ast
import random
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

#: The folders of a tree with the modules. No wheel has `tools/setup_helpers`, of which tests have a stand-in.
FOLDERS = ("torchgen", "tools/autograd")
_SUFFIX = "_edited"
_SWAPPED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip


class Edit(NamedTuple):
    """An edit of a module of a tree: its path, the place and what is done there, and the new text of the module."""

    path: str
    place: str
    text: str


def modules(tree: Path) -> list[str]:
    """The paths of all modules of the generator in a tree, without what is beside it for other programs' tests."""
    paths = [path.relative_to(tree).as_posix() for folder in FOLDERS for path in (tree / folder).rglob("*.py")]
    return sorted(path for path in paths if not path.startswith("torchgen/packaged/"))


def edits(tree: Path, path: str, draw: random.Random) -> Iterator[Edit]:
    """One edit of each function, method, constant, import and statement of a module, and two of each collection."""
    text = (tree / path).read_text("utf-8")
    for number, place in enumerate(_places(ast.parse(text))):
        # Each edit is made in a tree of its own.
        for kind in ("", "item") if _collection(place[1]) is not None else ("",):
            module = ast.parse(text)
            name, node = list(_places(module))[number]
            what = _edit_collection(node) if kind else _edit(node, draw)
            if what:
                yield Edit(path, f"{name}: {what}", _with_statement(text, ast.fix_missing_locations(node)))


def _with_statement(text: str, node: ast.stmt) -> str:
    """The text of a module with an edited statement in place of the one that was there; all else is as it was."""
    lines = text.splitlines(keepends=True)
    decorators = [decorator.lineno for decorator in getattr(node, "decorator_list", ()) if hasattr(decorator, "lineno")]
    first, end = min([node.lineno, *decorators]), node.end_lineno or node.lineno
    edited = textwrap.indent(ast.unparse(node), " " * node.col_offset) + "\n"
    return "".join([*lines[: first - 1], edited, *lines[end:]])


def _places(module: ast.Module, prefix: str = "") -> list[tuple[str, ast.stmt]]:
    places: list[tuple[str, ast.stmt]] = []
    for node in module.body:
        places.append((_name(node), node))
        if isinstance(node, ast.ClassDef):
            places += [(f"{node.name}.{_name(inner)}", inner) for inner in node.body]
    return places


def _name(node: ast.stmt) -> str:
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        return node.name
    return ast.unparse(node).partition("\n")[0][:60]


def _collection(node: ast.stmt) -> ast.expr | None:
    """The display of a constant's items, if it has one."""
    value = node.value if isinstance(node, (ast.Assign, ast.AnnAssign)) else None
    if isinstance(value, ast.Call) and len(value.args) == 1:
        value = value.args[0]
    return value if isinstance(value, (ast.List, ast.Set, ast.Tuple, ast.Dict)) else None


def _edit_collection(node: ast.stmt) -> str:
    """Put the first item of a collection at its end under another name, or take it away where it is no text."""
    shown = _collection(node)
    if isinstance(shown, ast.Dict) and shown.keys:
        removed = ast.unparse(shown.keys[0] or ast.Constant(None))
        del shown.keys[0], shown.values[0]
        return f"without {removed}"
    if isinstance(shown, (ast.List, ast.Set, ast.Tuple)) and len(shown.elts) > 1:
        return f"without {ast.unparse(shown.elts.pop(0))}"
    return ""


def _edit(node: ast.stmt, draw: random.Random) -> str:
    """Edit one place of a statement, and say what was done; empty if it has none."""
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        names = [alias for alias in node.names if isinstance(node, ast.Import) or alias.name != "annotations"]
        return _rename(draw.choice(names)) if names else ""
    choices: list[Callable[[], str]] = []
    for inner in ast.walk(node):
        if isinstance(inner, ast.Constant) and not _is_docstring(inner, node):
            choices.append(lambda inner=inner: _edit_constant(inner))  # type: ignore[misc]
        elif isinstance(inner, ast.Compare) and type(inner.ops[0]) in _SWAPPED:
            choices.append(lambda inner=inner: _edit_comparison(inner))  # type: ignore[misc]
    if choices:
        return draw.choice(choices)()
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        node.decorator_list.append(ast.Name("edited"))
        return "another decorator"
    return ""


def _rename(alias: ast.alias) -> str:
    alias.asname = f"{alias.asname or alias.name.partition('.')[0]}{_SUFFIX}"
    return f"imported as {alias.asname}"


def _is_docstring(constant: ast.Constant, node: ast.stmt) -> bool:
    return any(isinstance(inner, ast.Expr) and inner.value is constant for inner in ast.walk(node))


def _edit_constant(constant: ast.Constant) -> str:
    before, value = constant.value, constant.value
    if isinstance(value, bool):
        constant.value = not value
    elif isinstance(value, int):
        constant.value = value + 1
    elif isinstance(value, str):
        constant.value = value + _SUFFIX
    else:
        constant.value = _SUFFIX
    return f"{before!r:.40} is {constant.value!r:.40}"


def _edit_comparison(comparison: ast.Compare) -> str:
    before = ast.unparse(comparison)
    comparison.ops[0] = _SWAPPED[type(comparison.ops[0])]()
    return f"{before:.40} is {ast.unparse(comparison):.40}"
