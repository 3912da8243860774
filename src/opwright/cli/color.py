"""Whether messages and reports have colours and links."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from typing import TextIO

__all__ = ["AUTO", "CHOICES", "add_color_argument", "wants_color", "wants_links"]

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


def wants_color(choice: str = AUTO, stream: TextIO | None = None) -> bool:
    """Whether a stream gets colours, by default standard error.

    An explicit choice decides. Otherwise a NO_COLOR that is not empty means no, then a FORCE_COLOR that is not empty
    means yes, as for Python's own tracebacks; otherwise colours need a terminal that is not dumb.
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
