"""The core in the style of PyTorch's tree: its layout, its rules of ruff, and the licence at the head of each module.

Everything is done by program, so that a reviewer reads modules that look like those beside them.
"""

from __future__ import annotations

import ast
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

SETTINGS: Final = Path(__file__).with_suffix(".toml")
#: The comment at the head of each module.
HEAD: Final = """\
# Copyright (c) the Opwright authors.
# SPDX-License-Identifier: BSD-3-Clause
"""


def in_style(files: dict[str, bytes]) -> dict[str, bytes]:
    """The files of the core with its modules in PyTorch's style. Raises CalledProcessError if ruff finds more."""
    modules = {path: content.decode() for path, content in files.items() if path.endswith(".py")}
    with tempfile.TemporaryDirectory() as folder:
        for path, text in modules.items():
            target = Path(folder) / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(HEAD + "\n" + without_asserts(text), "utf-8")
        for words in (
            ("check", "--fix", "--unsafe-fixes", "--exit-zero", "--quiet"),
            ("format", "--quiet"),
            ("check", "--quiet"),
        ):
            run_ruff(folder, *words)
        styled = {path: (Path(folder) / path).read_bytes() for path in modules}
    return {**files, **styled}


def run_ruff(folder: str | Path, *words: str) -> None:
    """Run a command of ruff with the settings of PyTorch's tree. Raises CalledProcessError if it finds something."""
    command = [sys.executable, "-m", "ruff", *words, "--no-cache", "--config", str(SETTINGS), str(folder)]
    subprocess.run(command, check=True)


def without_asserts(text: str) -> str:
    r"""The text of a module that raises where it asserts: PyTorch's tree has no assertions that `-O` removes.

    >>> print(without_asserts("def f(x):\n    assert x, 'no x'\n    return x\n"), end="")
    def f(x):
        if not (x):
            raise AssertionError('no x')
        return x
    """
    lines = text.splitlines(keepends=True)
    asserts = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Assert)]
    for node in sorted(asserts, key=lambda node: node.lineno, reverse=True):
        blanks, end = " " * node.col_offset, node.end_lineno or node.lineno
        test = ast.get_source_segment(text, node.test)
        message = "" if node.msg is None else ast.get_source_segment(text, node.msg)
        lines[node.lineno - 1 : end] = [f"{blanks}if not ({test}):\n{blanks}    raise AssertionError({message})\n"]
    return "".join(lines)
