"""The program that PyTorch's build calls for autograd and Python, in a source tree; no wheel has it.

Opwright's program of that name stands in its place. Its functions are compared with those of known trees, by digests of
their syntax without checks, annotations and texts of help, which differ from tree to tree.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from opwright.release.store import BUILD_PROGRAM
from opwright.release.syntax_digest import canonical, digest_of

if TYPE_CHECKING:
    import ast

_LEFT_OUT: Final = frozenset(("annotation", "returns"))
_KNOWN: Final = frozenset(
    ["9468b5c7", "ab3500fa", "155f7a0e", "f163af45", "abfde4e7", "3597130d", "b1ccb09e", "b5d7823c", "287b4529"]
)


def build_program_edits(root: str) -> list[tuple[str, str]]:
    """The functions and constants of the program in a source tree that no known tree has, each with the file's path."""
    path = os.path.join(root, *BUILD_PROGRAM.split("/"))
    try:
        with open(path, encoding="utf-8") as file:
            parts = program_parts(file.read())
    except (OSError, SyntaxError, ValueError):
        return []
    # Other programs of that name, such as one that calls Opwright, are none of PyTorch's.
    is_program = any(name == "generate_code" for name, _ in parts)
    return [(name, path) for name, digest in parts if is_program and digest not in _KNOWN]


def program_parts(text: str) -> list[tuple[str, str]]:
    """The functions and constants of a program, with their digests.

    >>> texts = ["def f(x: int):\\n  assert x\\n  return g(x)", "def f(x):\\n  if not x:\\n    raise E\\n  return g(x)"]
    >>> program_parts(texts[0]) == program_parts(texts[1]) != program_parts("def f(x): return x")
    True
    """
    import ast

    nodes = [node for node in ast.parse(text).body if isinstance(node, (ast.FunctionDef, ast.Assign))]
    names = [node.name if isinstance(node, ast.FunctionDef) else ast.unparse(node.targets[0]) for node in nodes]
    for node in nodes:
        for inner in ast.walk(node):
            _leave_out_checks(inner)
    return [(name, digest_of(canonical(node, _LEFT_OUT))) for name, node in zip(names, nodes, strict=True)]


def _leave_out_checks(node: ast.AST) -> None:
    """Take the checks out of a block of statements, and the help out of a call."""
    import ast

    if isinstance(node, ast.Call):
        node.keywords = [word for word in node.keywords if word.arg not in ("help", "description")]
    body = getattr(node, "body", None)
    if isinstance(body, list):
        vars(node)["body"] = [statement for statement in body if not _is_check(statement)]


def _is_check(node: ast.stmt) -> bool:
    import ast

    raises = (
        isinstance(node, ast.If) and not node.orelse and len(node.body) == 1 and isinstance(node.body[0], ast.Raise)
    )
    return isinstance(node, ast.Assert) or raises
