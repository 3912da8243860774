"""Running one program to its end, with the time and the memory it took."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

# `ru_maxrss` counts kilobytes everywhere but on macOS, where it counts bytes.
RSS_UNIT = 1 if sys.platform == "darwin" else 1024

LAUNCHER = str(Path(__file__).with_name("launcher.py"))


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
        reading, writing = os.pipe()
        with open(reading) as results:
            launcher = subprocess.Popen(
                [sys.executable, "-I", "-S", LAUNCHER, str(writing), *command],
                cwd=folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=complaint,
                pass_fds=[writing],
            )
            os.close(writing)
            result = results.read().split()
            launcher.wait()
        texts = []
        for stream in (output, complaint):
            stream.seek(0)
            texts.append(stream.read().decode("utf-8", "replace"))
    if not result:
        raise OSError(f"cannot run {command[0]}: {texts[1]}")
    seconds, wait_status, peak = result
    status = os.waitstatus_to_exitcode(int(wait_status))
    return Finished(status, float(seconds), int(peak) * RSS_UNIT, texts[0], texts[1])
