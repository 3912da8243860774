"""Program `clang-format`, which formats the text of files before they are written.

It reads the text from its input and never touches the file, so a file with the same formatted text is left alone.
"""

from __future__ import annotations

import os
from collections import Counter

from opwright.source.diagnostic import shorten
from opwright.source.lazy import lazy_pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Final

NAME = "clang-format"

#: The names of files with a style, which holds for the folder of the file and for those below it.
_STYLES = (".clang-format", "_clang-format")


class FormatterFailed(Exception):
    """Raised with lines about what a formatter did wrong."""


def find_formatter() -> str | None:
    """Path of the first `clang-format` on the search path, or None."""
    name = f"{NAME}.exe" if os.name == "nt" else NAME
    for folder in os.environ.get("PATH", os.defpath).split(os.pathsep):
        path = os.path.join(folder, name)
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    return None


def formatter_facts(formatter: str, folders: Iterable[str]) -> list[object]:
    """What the texts of files in these folders depend on: the formatter, and the files with a style that hold there."""
    paths = {os.path.realpath(formatter)}
    for folder in folders:
        folder = os.path.realpath(folder)
        while True:
            paths.update(os.path.join(folder, name) for name in _STYLES)
            parent = os.path.dirname(folder)
            if parent == folder:
                break
            folder = parent
    return [formatter, *[[path, *_stamp(path)] for path in sorted(paths) if os.path.exists(path)]]


def _stamp(path: str) -> tuple[int, int]:
    status = os.stat(path)
    return status.st_size, status.st_mtime_ns


def formatting(formatter: str) -> Callable[[str, bytes], bytes]:
    """Function that formats the text of a file at a path. It raises FormatterFailed."""

    def format_text(path: str, data: bytes) -> bytes:
        import subprocess

        command = [formatter, f"--assume-filename={path}"]
        try:
            done = subprocess.run(command, input=data, capture_output=True, check=False)
        except OSError as error:
            raise FormatterFailed(_quote(str(error))) from None
        if done.returncode:
            complaint = done.stderr.decode(errors="replace").strip()
            raise FormatterFailed(_quote(complaint) if complaint else f"its exit status is {done.returncode}")
        lost = lost_tokens(data.decode(), done.stdout.decode(errors="replace"))
        if lost:
            raise FormatterFailed(
                f"its answer lacks {sum(lost.values())} tokens, such as `{shorten(next(iter(lost)))}`"
            )
        return done.stdout

    return format_text


def _quote(text: str) -> str:
    return "\n".join([f"it says: {line}" for line in text.splitlines()])


#: The tokens of C++, as far as a formatter tells them apart; in front, what it may change: comments and ends of lines.
_TOKEN: Final = lazy_pattern(
    r"""
    (?://[^\n]*|/\*.*?\*/|\\\r?\n|\s+)
    |(R"(?P<mark>[^()\s\\]{0,16})\(.*?\)(?P=mark)"|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|\w+|.)
    """,
    # The flags VERBOSE and DOTALL of `re`.
    64 | 16,
)


def lost_tokens(before: str, after: str) -> Counter[str]:
    """Tokens of a C++ text that the formatted text lacks, wherever they stand, and how often.

    Comments are no tokens, and string literals in a row are one, as they are for a compiler.

    >>> lost_tokens('int f(); // no\\nconst char* g = "ab";', 'int f();const char *g =\\n"a"  "b";')
    Counter()
    >>> lost_tokens("int f();", "int ();")
    Counter({'f': 1})
    """
    return _tokens(before) - _tokens(after)


def _tokens(text: str) -> Counter[str]:
    tokens: list[str] = []
    for match in _TOKEN.finditer(text):
        token = match[1]
        if token is None:
            continue
        if tokens and token[0] == tokens[-1][0] == '"':
            tokens[-1] = tokens[-1][:-1] + token[1:]
        else:
            tokens.append(token)
    return Counter(tokens)
