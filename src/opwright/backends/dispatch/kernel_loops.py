"""Functions of PyTorch's sources that compute the elements for a kernel, and the kernels that call them.

A kernel calls a table of functions, `mse_stub`, by the device: `DECLARE_DISPATCH` declares it, and
`REGISTER_DISPATCH(mse_stub, &mse_kernel)` enters a function.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Final

from opwright.release.view import Inputs
from opwright.source.diagnostic import Fault
from opwright.source.records import NamedTuple

_FOLDER: Final = "aten/src/ATen/native/"
_SUFFIXES: Final = (".cpp", ".cu", ".h", ".mm")
_REGISTERS: Final = re.compile(r"\b\w*REGISTER_\w*DISPATCH\(\s*(\w+)\s*,\s*&?\s*([\w:]+)")
#: Where sources have kernels; the folders below them have loops.
_KERNELS: Final = re.compile(rf"{_FOLDER}(?:sparse/|quantized/|nested/)?\w+\.cpp")
#: A line that begins the definition of a function, or of several by a macro.
_BEGINS: Final = re.compile(r"(?=[A-Za-z_])[\w:<>&*, ]*?\b(\w+) ?\(([^;{]*)")
_NOT_KERNELS: Final = ("DEFINE_DISPATCH", "DECLARE_DISPATCH")
_WORD: Final = re.compile(r"\w+")


def member_text(inputs: Inputs, name: str) -> str:
    """Text of a file of PyTorch; empty if it cannot be read."""
    try:
        return inputs.read_member(name).decode("utf-8", "replace")
    except Fault:
        return ""


class Loop(NamedTuple):
    """A function or a table of functions: the table, where the function is registered, and what may be kernels."""

    stub: str
    place: str
    callers: tuple[str, ...]


class LoopSources:
    """Loops in the sources of a PyTorch; none where there are no sources."""

    def __init__(self, inputs: Inputs) -> None:
        self._inputs: Final = inputs

    @cached_property
    def _texts(self) -> Mapping[str, str]:
        """Sources by their paths, which are read once a name may be in them."""
        if self._inputs.paths() is None:
            return {}
        names = [name for name in self._inputs.member_names(_FOLDER) if name.endswith(_SUFFIXES)]
        return {name: member_text(self._inputs, name) for name in names}

    def names(self) -> frozenset[str]:
        """Names of all registered functions and their tables."""
        rows = [match for text in self._texts.values() for match in _REGISTERS.findall(text)]
        return frozenset([name.rpartition("::")[2] for row in rows for name in row])

    def find(self, name: str) -> Loop | None:
        """Loop of a function or a table with a name."""
        for path, text in self._texts.items():
            for match in _REGISTERS.finditer(text) if name in text else ():
                stub, function = match[1], match[2].rpartition("::")[2]
                if name in (stub, function):
                    line = text.count("\n", 0, match.start()) + 1
                    return Loop(stub, f"{path}:{line}", tuple(dict.fromkeys(self._callers(stub))))
        return None

    def _callers(self, stub: str) -> Iterator[str]:
        """Functions that call a table, and those that call them in the same file."""
        for path, text in self._texts.items():
            if stub in text and _KERNELS.fullmatch(path):
                lines = text.split("\n")
                functions = [*_functions_around(stub, lines)]
                yield from functions
                for function in functions:
                    yield from _functions_around(function, lines)


def _functions_around(name: str, lines: Sequence[str]) -> Iterator[str]:
    """Functions, by their heads at the beginning of a line, in which a name is used."""
    use = re.compile(rf"\b{name}\b")
    function: tuple[str, ...] = ()
    for line in lines:
        if match := _BEGINS.match(line):
            # A macro makes functions whose names it is given.
            names = _WORD.findall(match[2]) if match[1].isupper() else [match[1]]
            function = () if match[1] in _NOT_KERNELS else tuple([caller for caller in names if caller != name])
        if use.search(line):
            yield from function
