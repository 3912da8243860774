"""Running one program to its end, with the time and the memory it took."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

# `ru_maxrss` counts kilobytes everywhere but on macOS, where it counts bytes.
RSS_UNIT = 1 if sys.platform == "darwin" else 1024


@dataclass(frozen=True)
class Finished:
    """How a program ended: exit status (negative for a signal), wall seconds, peak resident bytes, its two streams."""

    status: int
    seconds: float
    peak_bytes: int
    output: str
    complaint: str


def run_program(command: Sequence[str], folder: Path, environment: Mapping[str, str] | None = None) -> Finished:
    """Run `command` in `folder` to its end, with the caller's environment unless another is given.

    The peak is that of the largest single process among the command and the children that it waited for.
    """
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as complaint:
        start = time.perf_counter()
        child = subprocess.Popen(
            command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=complaint
        )
        _, wait_status, usage = os.wait4(child.pid, 0)
        seconds = time.perf_counter() - start
        # The child is reaped already, so Popen must not wait for it again.
        child.returncode = os.waitstatus_to_exitcode(wait_status)
        texts = []
        for stream in (output, complaint):
            stream.seek(0)
            texts.append(stream.read().decode("utf-8", "replace"))
    return Finished(child.returncode, seconds, usage.ru_maxrss * RSS_UNIT, texts[0], texts[1])
