"""Standard output and standard error: writing messages never fails, and whether they have colours and links."""

from __future__ import annotations

import contextlib
import os
import sys

from opwright.source.terminal import print_rendered, say

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable
    from typing import Final, NoReturn, TextIO

FAULTS: Final = 1
INTERRUPTED: Final = 130
_SYSTEM: Final = ("/dev/", "/proc/")
OUT_OF_MEMORY: Final = "opwright: there is not enough memory for this run\n"


def settle_streams() -> None:
    """Replace missing streams, and let both escape characters that their encoding lacks, such as in paths."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
        elif getattr(stream, "errors", None) == "strict":
            stream.reconfigure(errors="backslashreplace")


def print_or_write(text: str, path: str | None) -> None:
    """Print a report at once, or write it to the file that is asked for.

    Raises Fault if a link leads from the path to a file elsewhere (E0608), and for errors of the system (E0605 to
    E0608).
    """
    if path is None:
        print_rendered(text)
        sys.stdout.flush()
        return
    _write_report(path, text)


def _write_report(path: str, text: str) -> None:
    """Write a report whole or not at all. A pipe or a device gets its text.

    Raises Fault (E0605 to E0608) as `Writer` does, and for a link to what is outside of its folder (E0608). The links
    to the streams of a process are the system's, which leads them where its caller says.
    """
    from opwright.files.writer import check_links, write_fault, write_file

    if not path.startswith(_SYSTEM):
        check_links(path)
    try:
        if is_stream(path):
            with open(path, "w", encoding="utf-8", newline="") as stream:
                stream.write(text)
            return
    except OSError as error:
        raise write_fault(path, error) from None
    write_file(os.path.realpath(path), text.encode())


def is_stream(path: str) -> bool:
    """Whether a path is that of a pipe or a device, which has nothing to lose."""
    return os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path)


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
    os._exit(status)


AUTO = "auto"
CHOICES = (AUTO, "always", "never")


def add_color_argument(parser: argparse.ArgumentParser) -> None:
    """Declare `--color`."""
    parser.add_argument(
        "--color",
        choices=CHOICES,
        default=AUTO,
        metavar="WHEN",
        help="when to colour diagnostics: `always`, `never`, or `auto` (the default: on a terminal with colours); the "
        "variables NO_COLOR and FORCE_COLOR change the default",
    )


def wants_color(choice: str, stream: TextIO | None = None) -> bool:
    """Whether a stream gets colours, by default standard error.

    An explicit choice decides. Otherwise a NO_COLOR that is not empty means no, then a FORCE_COLOR that is not empty
    means yes, as for Python's tracebacks; otherwise colours need a terminal that is not dumb.
    """
    if choice != AUTO:
        return choice == "always"
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return (stream or sys.stderr).isatty() and os.environ.get("TERM") != "dumb"


def wants_links(stream: TextIO) -> bool:
    """Whether a stream gets links (OSC 8): on a terminal that is not dumb.

    A FORCE_HYPERLINK that is not empty decides otherwise: `0` means no, all else yes.
    """
    forced = os.environ.get("FORCE_HYPERLINK")
    if forced:
        return forced != "0"
    return stream.isatty() and os.environ.get("TERM") != "dumb"
