"""The C++ files that name symbols of operators: `python -m bench.lean.symbols aten_interned_strings.h FOLDER ...`.

Such a file names `aten::add` or `attr::self`, with a name from the generated header, outside of comments and strings.
It has to include `ATen/core/interned_strings.h` where `torch/csrc/jit/ir/ir.h` no longer does.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

_SYMBOL = re.compile(r"_\((aten|attr), (\w+)\)")
_NAMED = re.compile(r"\b(aten|attr)::(\w+)")
_NO_CODE = re.compile(r'R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*.*?\*/', re.DOTALL)


def symbols(header: Path) -> frozenset[tuple[str, str]]:
    """The namespaces and names of the symbols in `aten_interned_strings.h`."""
    return frozenset(_SYMBOL.findall(header.read_text(encoding="utf-8")))


def names_symbols(text: str, known: frozenset[tuple[str, str]]) -> bool:
    """Whether the code of a file names one of the symbols.

    >>> names_symbols('kind = aten::add;  // "aten::sub"', frozenset({("aten", "add")}))
    True
    >>> names_symbols('kind = fromQualString("aten::add");', frozenset({("aten", "add")}))
    False
    """
    return any(name in known for name in _NAMED.findall(_NO_CODE.sub(" ", text)))


def users(folders: Iterable[Path], known: frozenset[tuple[str, str]]) -> Iterator[Path]:
    """The files below folders that name one of the symbols."""
    for folder in folders:
        for path in sorted(folder.rglob("*")):
            if path.suffix not in (".cpp", ".h") or not path.is_file():
                continue
            if names_symbols(path.read_text(encoding="utf-8", errors="replace"), known):
                yield path


def main() -> None:
    """Print the paths, one in a line."""
    header, *folders = map(Path, sys.argv[1:])
    for path in users(folders, symbols(header)):
        print(path)


if __name__ == "__main__":
    main()
