"""Standard output and standard error, so that nothing that is said to the user can fail."""

from __future__ import annotations

import contextlib
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

__all__ = ["leave", "settle_streams"]


def settle_streams() -> None:
    """Let both streams spell what their encoding has no form for (a path may hold anything), and exist at all."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
        elif getattr(stream, "errors", None) == "strict":
            stream.reconfigure(errors="backslashreplace")


def leave(status: int) -> NoReturn:
    """End the process with an exit status, at once: taking all that is loaded apart piece by piece serves nobody."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(status)
