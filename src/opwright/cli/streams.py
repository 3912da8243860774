"""Standard output and standard error: writing messages never fails."""

from __future__ import annotations

import contextlib
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Final, NoReturn

__all__ = ["FAULTS", "INTERRUPTED", "OUT_OF_MEMORY", "confirm_to", "leave", "say", "settle_streams"]

FAULTS: Final = 1
INTERRUPTED: Final = 130
OUT_OF_MEMORY: Final = "opwright: there is not enough memory for this run\n"


#: The end of a pipe that a program writes to when it is done, if another process waits for that.
_confirmed: Final[list[int]] = []


def confirm_to(end: int) -> None:
    """Let the program write to the end of a pipe when it is done."""
    _confirmed[:] = [end]


def settle_streams() -> None:
    """Replace missing streams, and let both escape characters that their encoding lacks, such as in paths."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
        elif getattr(stream, "errors", None) == "strict":
            stream.reconfigure(errors="backslashreplace")


def say(text: str) -> None:
    """Write to standard error at once. Text that cannot be written is lost, and the run goes on."""
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.write(text)
        sys.stderr.flush()


def leave(main: Callable[[], int]) -> NoReturn:
    """Run a program and end the process with its exit status.

    The process ends without freeing its values one by one, which would only take time. Errors of the system that occur
    before the program can report faults are printed here.
    """
    status = FAULTS
    try:
        status = main()
    except SystemExit as end:
        # `argparse` ends programs with SystemExit, whose code is never a text here.
        status = end.code if isinstance(end.code, int) else 0
    except KeyboardInterrupt:
        say("opwright: interrupted\n")
        status = INTERRUPTED
    except MemoryError:
        say(OUT_OF_MEMORY)
    except ImportError as error:
        if not (error.path or "").endswith((".so", ".pyd")):
            raise
        # A shared library exists but cannot be loaded, mostly for lack of memory.
        say(f"opwright: {error}\n")
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    for pipe in _confirmed:
        with contextlib.suppress(OSError):
            os.write(pipe, b"d")
    os._exit(status)
