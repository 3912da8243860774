"""Standard output and standard error, so that nothing that is said to the user can fail."""

from __future__ import annotations

import contextlib
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Final, NoReturn

__all__ = ["FAULTS", "INTERRUPTED", "OUT_OF_MEMORY", "leave", "say", "settle_streams"]

FAULTS: Final = 1
INTERRUPTED: Final = 130
OUT_OF_MEMORY: Final = "opwright: there is not enough memory for this run\n"


def settle_streams() -> None:
    """Let both streams spell what their encoding has no form for (a path may hold anything), and exist at all."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
        elif getattr(stream, "errors", None) == "strict":
            stream.reconfigure(errors="backslashreplace")


def say(text: str) -> None:
    """Write to standard error at once. What it cannot take is lost: a full disk there changes nothing else."""
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.write(text)
        sys.stderr.flush()


def leave(main: Callable[[], int]) -> NoReturn:
    """Run a program and end the process with its exit status.

    The end is sudden: taking all that is loaded apart piece by piece serves nobody. Where the system refuses what the
    program needs before it can tell of faults itself, that is said here.
    """
    status = FAULTS
    try:
        status = main()
    except SystemExit as end:
        # `argparse` ends programs so; nothing here has a text for a status.
        status = end.code if isinstance(end.code, int) else 0
    except KeyboardInterrupt:
        say("opwright: interrupted\n")
        status = INTERRUPTED
    except MemoryError:
        say(OUT_OF_MEMORY)
    except ImportError as error:
        if not (error.path or "").endswith((".so", ".pyd")):
            raise
        # A library is there that cannot be loaded, mostly for want of memory.
        say(f"opwright: {error}\n")
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(status)
