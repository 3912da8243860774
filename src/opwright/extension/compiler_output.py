"""What compilers and linkers print: the first error is what a reader looks for."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread
from typing import Final

__all__ = ["first_error", "remembered_output"]

#: An error of GCC, Clang, NVCC or MSVC with its place, and the lines that show it; or a symbol that a linker lacks.
_ERROR: Final = re.compile(
    r"^(?:\S.*?(?::\d+:\d+|\(\d+(?:,\d+)?\)) ?: (?:fatal )?error\b.*(?:\n +\d* *\|.*)*"
    r"|.*undefined (?:reference|symbol).*)$",
    re.MULTILINE,
)


def first_error(text: str) -> str | None:
    """The first error in the output of a compiler or a linker, None if there is none that is known.

    >>> first_error("note\\nk.cpp:2:3: error: 'x' was not declared\\n    2 | x;\\n      | ^\\nk.cpp:9:1: error: more")
    "k.cpp:2:3: error: 'x' was not declared\\n    2 | x;\\n      | ^"
    >>> first_error("ld: kernels.o: undefined reference to `acme::scale(at::Tensor const&)'\\n")
    "ld: kernels.o: undefined reference to `acme::scale(at::Tensor const&)'"
    """
    match = _ERROR.search(text)
    return match[0] if match else None


@contextmanager
def remembered_output() -> Iterator[list[bytes]]:
    """Remember what the process and its children print meanwhile, which is printed as ever; pieces of it, in order."""
    pieces: list[bytes] = []
    streams = [_Copy(stream, pieces) for stream in (1, 2)]
    try:
        yield pieces
    finally:
        for stream in streams:
            stream.close()


class _Copy:
    """A file descriptor whose output goes through a pipe."""

    def __init__(self, descriptor: int, pieces: list[bytes]) -> None:
        self._descriptor, self._pieces = descriptor, pieces
        _flush()
        self._original = os.dup(descriptor)
        self._end, start = os.pipe()
        os.dup2(start, descriptor)
        os.close(start)
        self._thread = Thread(target=self._copy, daemon=True)
        self._thread.start()

    def _copy(self) -> None:
        while piece := os.read(self._end, 1 << 16):
            self._pieces.append(piece)
            os.write(self._original, piece)

    def close(self) -> None:
        """Let the output go where it went, after all of it has been copied."""
        _flush()
        os.dup2(self._original, self._descriptor)
        self._thread.join(timeout=5)
        os.close(self._end)
        os.close(self._original)


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
