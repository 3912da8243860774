"""Runs of Python texts in copies of a process that has imported what they need: such a run starts at once."""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

__all__ = ["CopiedProcess", "run_program"]

#: Copies itself for each line that it reads, and tells how the copy ended.
_PROGRAM: Final = """
import gc, json, os, sys
folders = sys.path[1:]
exec(sys.argv[1])
gc.collect()
gc.freeze()
for line in sys.stdin:
    (text, *words), place, variables, outputs = json.loads(line)
    copy = os.fork()
    if not copy:
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        for number, path in enumerate(outputs, 1):
            os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
        os.chdir(place)
        os.environ.clear()
        os.environ.update(variables)
        sys.path[:] = [*filter(None, variables.get("PYTHONPATH", "").split(os.pathsep)), *folders]
        sys.argv = ["-c", *words]
        exec(text, {"__name__": "__main__"})
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(copy, 0)[1]), flush=True)
"""


class CopiedProcess:
    """Runs `python -c TEXT WORD...` in copies of a process with some imports, which starts when it is first asked."""

    def __init__(self, folder: Path, imports: str) -> None:
        self._outputs = [folder / "stdout", folder / "stderr"]
        self._imports = imports
        self._process: subprocess.Popen[str] | None = None

    def run(self, text: str, words: Sequence[str]) -> subprocess.CompletedProcess[str]:
        """What `subprocess.run` returns with texts for outputs."""
        if self._process is None:
            program = [sys.executable, "-c", _PROGRAM, self._imports]
            variables = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
            pipe = subprocess.PIPE
            self._process = subprocess.Popen(program, stdin=pipe, stdout=pipe, text=True, env=variables)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        task = [[text, *words], os.getcwd(), dict(os.environ), list(map(str, self._outputs))]
        print(json.dumps(task), file=self._process.stdin, flush=True)
        status = int(self._process.stdout.readline())
        printed = [path.read_text(errors="replace") for path in self._outputs]
        return subprocess.CompletedProcess([text, *words], status, *printed)

    def end(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.communicate()


#: Imports the program with all that a run may load later. Modules that are programs, or for tools that may be missing,
#: are left to the copies.
_ALL_OF_OPWRIGHT: Final = """
import contextlib, importlib, pkgutil, opwright
for module in pkgutil.walk_packages(opwright.__path__, "opwright."):
    if not module.name.endswith("__main__") and ".torchgen" not in module.name and ".lsp" not in module.name:
        with contextlib.suppress(ImportError):
            importlib.import_module(module.name)
"""
_programs: list[CopiedProcess] = []


def run_program(words: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """What a run of `opwright` with these words comes to: a process of its own, which has its modules already."""
    if not hasattr(os, "fork"):
        command = [sys.executable, "-m", "opwright", *words]
        return subprocess.run(command, capture_output=True, text=True, check=False)
    if not _programs:
        folder = tempfile.TemporaryDirectory(prefix="opwright-copies-")
        _programs.append(CopiedProcess(Path(folder.name), _ALL_OF_OPWRIGHT))
        atexit.register(folder.cleanup)
        atexit.register(_programs[0].end)
    return _programs[0].run("from opwright.cli.main import program; program()", words)
