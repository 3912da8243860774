"""The program `clang-format`, which formats the text of files before they are written.

It reads the text from its input and never touches the file, so a file with the same formatted text is left alone.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ["NAME", "FormatterFailed", "find_formatter", "formatter_facts", "formatting"]

NAME = "clang-format"

#: The names of files with a style, which holds for the folder of the file and for those below it.
_STYLES = (".clang-format", "_clang-format")


class FormatterFailed(Exception):
    """Raised with the output of a formatter that failed."""


def find_formatter() -> str | None:
    """The path of the first `clang-format` on the search path, or None."""
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
    """The function that formats the text of a file at a path. It raises FormatterFailed."""

    def format_text(path: str, data: bytes) -> bytes:
        import subprocess

        command = [formatter, f"--assume-filename={path}"]
        try:
            done = subprocess.run(command, input=data, capture_output=True, check=False)
        except OSError as error:
            raise FormatterFailed(str(error)) from None
        if done.returncode:
            raise FormatterFailed(done.stderr.decode(errors="replace").strip() or f"exit status {done.returncode}")
        return done.stdout

    return format_text
