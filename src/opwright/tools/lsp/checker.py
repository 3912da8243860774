"""Processes that check the texts of open files: one that checks, and one that is ready for the next texts.

A process needs half a second for its imports. So the next one starts while nobody waits, and reads its request later.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import suppress
from tempfile import TemporaryFile
from typing import Any, Final

from opwright.source.child import python_command
from opwright.source.records import NamedTuple


class InputOptions(NamedTuple):
    """The PyTorch that files outside of PyTorch's own tree belong to, and the paths that heads may name."""

    torch: str | None
    source_path: str | None
    allowed_paths: tuple[str, ...]

    @property
    def words(self) -> list[str]:
        """The options as words of a command line."""
        options = [
            ("--torch", self.torch),
            ("--source-path", self.source_path),
            *[("--allow-path", path) for path in self.allowed_paths],
        ]
        return [word for flag, value in options if value is not None for word in (flag, value)]


class CheckFailed(Exception):
    """A process ended without its last report. The argument is what it wrote to standard error."""


class _Process:
    """A process that waits for a request."""

    def __init__(self, command: Sequence[str]) -> None:
        pipe = subprocess.PIPE
        self._complaint: Final = TemporaryFile()  # noqa: SIM115  it is open as long as the process
        self._process: Final = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=self._complaint)

    @property
    def is_running(self) -> bool:
        """Whether it can take a request."""
        return self._process.poll() is None

    def send(self, request: Mapping[str, object]) -> None:
        """Send the request; a process that has ended gets none."""
        assert self._process.stdin is not None
        with suppress(OSError), self._process.stdin as stream:
            stream.write(json.dumps(request).encode())

    def next_line(self) -> bytes:
        """The next line of what the process answers; empty after the last one."""
        assert self._process.stdout is not None
        return self._process.stdout.readline()

    def failure(self) -> CheckFailed:
        """Why there is no report."""
        self._process.wait()
        self._complaint.seek(0)
        return CheckFailed(self._complaint.read().decode(errors="replace").rstrip())

    def end(self) -> None:
        """Stop the process, and close its streams."""
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._complaint):
            if stream is not None:
                # What the process did not read is lost with it.
                with suppress(OSError):
                    stream.close()


class Checker:
    """Starts processes with the options of the server, and gives each one request."""

    def __init__(self, options: InputOptions) -> None:
        # The working folder is the one that the editor opened.
        program = f"import sys; sys.path[:] = {sys.path!r}; from opwright.cli.main import program; program()"
        self._command: Final = [*python_command(sys.executable, program), "lsp", "--check", *options.words]
        self._ready: _Process | None = None

    def prepare(self) -> None:
        """Start a process for the next request, unless one waits already."""
        if self._ready is None or not self._ready.is_running:
            self.end()
            self._ready = _Process(self._command)

    def end(self) -> None:
        """Stop the process that waits."""
        if self._ready is not None:
            self._ready.end()
            self._ready = None

    async def reports(self, request: Mapping[str, object]) -> AsyncGenerator[dict[str, Any], None]:
        """What a process answers to a request, line by line. It ends with the task. Raises CheckFailed."""
        self.prepare()
        process, self._ready = self._ready, None
        assert process is not None, "it was started"
        try:
            await asyncio.to_thread(process.send, request)
            report: dict[str, Any] = {}
            while line := await asyncio.to_thread(process.next_line):
                report = json.loads(line)
                yield report
            if not report.get("is_last"):
                raise await asyncio.to_thread(process.failure)
        finally:
            process.end()
