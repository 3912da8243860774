"""One source for the compiler in place of several generated ones.

Most of the time that a compiler takes for generated registrations goes into PyTorch's headers. In a source that
includes the others, it reads them once.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import Final

from opwright.cpp.text import quoted_include_line
from opwright.files.writer import write_file

#: A function or a class that a generated source defines.
_DEFINED: Final = re.compile(r"^(?:[\w:<>,&* ]+[ &*])?(\w+)\(.*\) \{$|^(?:struct|class) (\w+)\b", re.MULTILINE)
#: A namespace that one opens, empty or not, inside of another one.
_NAMESPACE: Final = re.compile(r"^namespace (\w+) \{", re.MULTILINE)
_JOINED: Final = "joined.cpp"


def join_sources(sources: Sequence[str], folder: str) -> tuple[str, ...]:
    """Paths of sources, with a new source in a folder in the place of those that one source can include.

    Each source has helpers of its own, which have the same names: they get others in the sources after the first. So
    the sources that name them as members stay apart, and those that name a namespace which an earlier one opens inside
    of another: `at::acme` hides `acme`. The text of the new source is written if it changes. Raises
    Fault (E0605 to E0608) if it cannot be.
    """
    lines: list[str] = []
    joined: list[str] = []
    names: set[str] = set()
    opened: set[str] = set()
    # The names of sections are longer than that of dense tensors, whose namespace may be that of the kernels too.
    for path in sorted(sources, key=lambda path: (-len(path), path)):
        text = _read(path)
        defined = {name for match in _DEFINED.finditer(text) if not (name := match[1] or match[2]).isupper()}
        shared = sorted(defined & names)
        if shared and re.search(rf"(?:::|\.|->) *(?:{'|'.join(shared)})\b", text):
            continue
        if opened and re.search(rf"(?<![\w:])(?:{'|'.join(opened)})::", text):
            continue
        include = quoted_include_line(os.path.relpath(path, folder))
        renamed = [f"#define {name} {name}_{len(joined)}" for name in shared]
        lines += [*renamed, include, *[f"#undef {name}" for name in shared]]
        names |= defined
        opened |= {*_NAMESPACE.findall(text)} - {"at"}
        joined.append(path)
    if len(joined) < 2:
        return tuple(sources)
    path = os.path.join(folder, _JOINED)
    # A file that has the text keeps its time: compilers take what is newer for changed.
    write_file(path, "".join([f"{line}\n" for line in lines]).encode())
    return (path, *[source for source in sources if source not in joined])


def _read(path: str) -> str:
    with open(path, encoding="utf-8") as stream:
        return stream.read()
