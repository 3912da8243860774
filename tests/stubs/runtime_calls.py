"""Runs beside PyTorch: makes the calls of a file, and prints where PyTorch sees them otherwise than the remarks.

A statement without a remark must work. One that is nothing but a call or an attribute, and has a remark that it is
wrong, must fail; of one that gives its value a wrong type PyTorch knows nothing.
"""

from __future__ import annotations

import ast
import sys
import warnings
from pathlib import Path

warnings.simplefilter("ignore")


def failure(statement: ast.stmt, names: dict[str, object]) -> str:
    """How a statement fails; nothing where it works."""
    try:
        exec(compile(ast.Module([statement], []), "calls", "exec"), names)
    except Exception as error:
        return f"{type(error).__name__}: {error}".splitlines()[0]
    return ""


def main() -> None:
    """Run the file that is named on the command line."""
    text = Path(sys.argv[1]).read_text(encoding="utf-8")
    lines = text.splitlines()
    names: dict[str, object] = {}
    for statement in ast.parse(text).body:
        wrong = "# error: " in lines[statement.lineno - 1]
        failed = failure(statement, names)
        if wrong and not failed and isinstance(statement, ast.Expr):
            print(f"{statement.lineno}: works: {lines[statement.lineno - 1]}")
        if not wrong and failed:
            print(f"{statement.lineno}: fails: {lines[statement.lineno - 1]}: {failed}")


main()
