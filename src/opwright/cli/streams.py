"""Standard output and standard error, so that nothing that is said to the user can fail."""

from __future__ import annotations

import os
import sys

__all__ = ["settle_streams"]


def settle_streams() -> None:
    """Let both streams spell what their encoding has no form for (a path may hold anything), and exist at all."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
        elif getattr(stream, "errors", None) == "strict":
            stream.reconfigure(errors="backslashreplace")
