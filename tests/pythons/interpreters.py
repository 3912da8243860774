"""Finds the interpreters of this machine."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

__all__ = ["OLDEST", "Interpreter", "asked", "old_interpreters", "supported_interpreters"]

OLDEST = (3, 10)
"""The oldest Python that Opwright supports."""

_NAME = re.compile(r"python3(\.\d+)?t?")
_ASK = """\
import json, platform, sys, sysconfig
free = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
print(json.dumps([list(sys.version_info[:3]), free, sys.executable, platform.python_implementation()]))
"""


class Interpreter(NamedTuple):
    """A CPython: its version, whether it is a free-threaded build, the path of its program, and how to get there."""

    version: tuple[int, int, int]
    is_free_threaded: bool
    path: str
    enter: tuple[str, ...] = ()
    """The words before a command that let it run where the interpreter is; none on this machine itself."""

    @property
    def name(self) -> str:
        """The series, as in `3.13` or `3.14t`."""
        return f"{self.version[0]}.{self.version[1]}{'t' if self.is_free_threaded else ''}"


@cache
def _interpreters() -> list[Interpreter]:
    """The newest interpreter of each series, from the oldest series to the newest; too old ones are among them.

    They are looked for on PATH and where pyenv, uv and asdf install them.
    """
    newest: dict[str, Interpreter] = {}
    for interpreter in filter(None, map(asked, dict.fromkeys(_paths()))):
        known = newest.get(interpreter.name)
        if known is None or known.version < interpreter.version:
            newest[interpreter.name] = interpreter
    return sorted(newest.values())


def _paths() -> Iterator[str]:
    """The programs that may be interpreters."""
    for folder in os.get_exec_path():
        yield from sorted(str(path) for path in Path(folder).glob("python3*") if _NAME.fullmatch(path.name))
    home = Path.home()
    for variable, default, versions in (
        ("PYENV_ROOT", home / ".pyenv", "versions"),
        ("UV_PYTHON_INSTALL_DIR", home / ".local/share/uv/python", "."),
        ("ASDF_DATA_DIR", home / ".asdf", "installs/python"),
    ):
        root = Path(os.environ.get(variable) or default) / versions
        yield from sorted(str(path) for path in root.glob("*/bin/python3"))


def asked(path: str, enter: tuple[str, ...] = ()) -> Interpreter | None:
    """The interpreter at a path; None if it does not start, as a shim without a version, or is no CPython."""
    try:
        done = subprocess.run([*enter, path, "-I", "-c", _ASK], capture_output=True, timeout=60, check=True)
        version, is_free_threaded, program, implementation = json.loads(done.stdout)
    except (OSError, subprocess.SubprocessError, ValueError):
        return None
    return Interpreter(tuple(version), is_free_threaded, program, enter) if implementation == "CPython" else None


def supported_interpreters() -> list[Interpreter]:
    """The interpreters of this machine that Opwright supports, from the oldest series to the newest."""
    return [interpreter for interpreter in _interpreters() if interpreter.version >= OLDEST]


def old_interpreters() -> list[Interpreter]:
    """Those that it does not support."""
    return [interpreter for interpreter in _interpreters() if interpreter.version < OLDEST]
