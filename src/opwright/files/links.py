"""Links that lead out of the folder that they are in: no command writes through one into a file of the user."""

from __future__ import annotations

import os

from opwright.source.codes import NOT_A_FILE
from opwright.source.diagnostic import Fault

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


def check_links(path: str, beside: Iterable[str] = ()) -> None:
    """Raises Fault (E0607) if a part of a path is a link that leads out of the folder that it is in.

    A link on the way to a folder `beside`, into which the user sends other files, may lead anywhere.
    """
    followed = tuple([os.path.join(os.path.abspath(folder), "") for folder in beside])
    part = ""
    for name in _parts(path):
        part = os.path.join(part, name)
        if os.path.islink(part) and not any(
            folder.startswith(os.path.join(os.path.abspath(part), "")) for folder in followed
        ):
            folder, target = os.path.realpath(os.path.dirname(part) or os.curdir), os.path.realpath(part)
            if not target.startswith(os.path.join(folder, "")):
                there = "" if part == path else f"cannot write `{path}`: "
                message = f"{there}`{part}` is a link to `{target}`, outside of its folder"
                raise Fault.at(NOT_A_FILE, message, help="name the file itself, or remove the link")


def _parts(path: str) -> list[str]:
    """The names in a path, the first with the root before it."""
    root, rest = os.path.splitdrive(path)
    first = root + os.sep if rest.startswith((os.sep, os.altsep or os.sep)) else root
    names = [name for name in rest.replace(os.altsep or os.sep, os.sep).split(os.sep) if name]
    return [first, *names] if first else names
