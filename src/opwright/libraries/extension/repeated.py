"""Builds that repeat the commands of the last one.

PyTorch's command knows how to compile and link, and takes longer to import than a kernel takes to compile. After an
edit of a kernel the commands are the same: Ninja has those that compile in its file, and this module notes the others.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from importlib.metadata import version
from shutil import which
from typing import Any, Final

from opwright.files.staging import read_checked_state, replace_checked_state
from opwright.incremental.identity import tool_identity
from opwright.libraries.extension.kept import short_hash
from opwright.libraries.extension.toolchain import torch_version_file

_FORMAT: Final = "opwright-commands 2"
#: The variables from which setuptools and PyTorch make commands. What compilers read themselves is not in commands.
_VARIABLES: Final = re.compile(
    r"CC|CXX|CPP|AR|RANLIB|LDSHARED|LDCXXSHARED|SDKROOT|_PYTHON_HOST_PLATFORM|\w*FLAGS|(?:TORCH|MACOSX|SETUPTOOLS)_\w+"
)


def _program_status(command: str) -> tuple[object, ...]:
    """The program of a command, and what tells it from another one that takes its place."""
    path = which(command.split()[0]) if command.strip() else None
    if path is None:
        return ()
    status = os.stat(path)
    return os.path.realpath(path), status.st_size, status.st_mtime_ns


class BuildCommands:
    """The commands of a build of one shared object, which the file `build.ninja` of a folder and a file below it have.

    `facts` are what the commands are made from, beside the environment, Opwright and PyTorch.
    """

    def __init__(self, folder: str, facts: Iterable[object]) -> None:
        self._folder: Final = folder
        self._path: Final = os.path.join(folder, "opwright", "commands")
        status = os.stat(torch_version_file())
        environment = sorted(pair for pair in os.environ.items() if _VARIABLES.fullmatch(pair[0]))
        tools = (tool_identity(), sys.executable, sys.version, version("setuptools"))
        places = (os.path.realpath(folder), torch_version_file(), status.st_size, status.st_mtime_ns)
        compilers = [_program_status(os.environ.get(name, usual)) for name, usual in (("CC", "cc"), ("CXX", "c++"))]
        self._key: Final = short_hash(*map(repr, (environment, tools, places, compilers, *facts)))

    def repeat(self, compiler: Any, output: str) -> bool:  # noqa: ANN401
        """Bring a shared object up to date if the last build had the same commands, and tell whether it had.

        `compiler` is the one of setuptools. Raises RuntimeError if a command of Ninja fails, else what linking raises.
        """
        try:
            body = read_checked_state(self._path, _FORMAT)
            key, ninja, (objects, _, *more), options = json.loads(body)
        except (OSError, ValueError):
            return False
        if key != self._key or ninja != self._ninja_digest():
            return False
        jobs = os.environ.get("MAX_JOBS", "")
        try:
            subprocess.run(["ninja", *(["-j", jobs] if jobs.isdigit() else [])], cwd=self._folder, check=True)
        except FileNotFoundError:
            return False
        except subprocess.CalledProcessError as error:
            raise RuntimeError(str(error)) from None
        compiler.link_shared_object(objects, output, *more, **options)
        return True

    def _ninja_digest(self) -> str:
        """Digest of the file with the commands of Ninja, empty if there is none: another one cannot be repeated."""
        try:
            with open(os.path.join(self._folder, "build.ninja"), encoding="utf-8", errors="surrogateescape") as stream:
                return short_hash(stream.read())
        except OSError:
            return ""

    @contextmanager
    def recorded(self, command: Any) -> Iterator[None]:  # noqa: ANN401
        """Note the commands of a command of PyTorch that runs meanwhile, if it ends well."""
        with suppress(FileNotFoundError):
            os.remove(self._path)
        calls: list[tuple[tuple[Any, ...], dict[str, Any]]] = []
        link = command.compiler.link_shared_object

        def noted_link(*arguments: Any, **options: Any) -> None:  # noqa: ANN401
            calls.append((arguments, options))
            link(*arguments, **options)

        command.compiler.link_shared_object = noted_link
        yield
        # Without Ninja, there is no file with the commands that compile.
        if command.use_ninja and len(calls) == 1:
            noted = [self._key, self._ninja_digest(), *calls[0]]
            replace_checked_state(self._path, _FORMAT, json.dumps(noted).encode())
