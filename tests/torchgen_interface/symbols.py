"""The names that public repositories import from PyTorch's generator, and which of them Opwright offers.

A line of `symbols.txt` has a module, and its names with the number of files that import each; `(module)` stands for
the module itself.
"""

from __future__ import annotations

import re
from functools import cache
from importlib import import_module
from pathlib import Path

__all__ = ["resolves", "symbols"]


@cache
def symbols() -> dict[str, dict[str, int]]:
    """How many files import each name, by module and name."""
    lines = (Path(__file__).parent / "symbols.txt").read_text(encoding="utf-8").splitlines()
    modules = [line.split(": ") for line in lines]
    return {
        module: {name: int(count) for name, count in re.findall(r"([\w*()]+) (\d+)", names)}
        for module, names in modules
    }


def resolves(module: str, name: str) -> bool:
    """Whether `from module import name` gets something from Opwright, which has the module under its own name."""
    try:
        imported = import_module(f"opwright.{module}")
        if name not in ("(module)", "*") and not hasattr(imported, name):
            import_module(f"opwright.{module}.{name}")
    except ImportError:
        return False
    return True
