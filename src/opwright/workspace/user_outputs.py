"""Writing files among those of the user: what exists is replaced only if the run read it, or may replace it.

All files are written, or none: what a killed run wrote, the next one takes back. A replaced file keeps what `UserFiles`
keeps; one that someone saved after the run read it is left as it is. No link that leads out of the folder it is in is
followed, neither in place of a file nor on the way to it.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from types import MappingProxyType

from opwright.files.writer import Writer, check_links, write_fault
from opwright.source.codes import CHANGED_MEANWHILE, NOT_A_FILE, OUTPUT_EXISTS
from opwright.source.diagnostic import Fault
from opwright.workspace.user_files import UserFiles


def write_user_files(
    contents: Mapping[str, bytes], *, read: Mapping[str, bytes] = MappingProxyType({}), force: bool = False
) -> None:
    """Write files by their paths. Those of `read` are replaced if they still have the contents that the run read.

    Raises Fault if another one exists and the run may not replace it (E2402), if one was saved meanwhile (E2207), if a
    path leads out of its folder, or is no file (E0608), and for errors of the system (E0605 to E0608).
    """
    for path in contents:
        check_links(path)
    old = {path: read[path] if path in read else _existing(path) for path in contents}
    changed = [path for path, data in contents.items() if old[path] != data]
    for path in changed:
        if old[path] is not None and path not in read and not force:
            message = f"`{path}` exists"
            raise Fault.at(OUTPUT_EXISTS, message, help="name another file, or replace it with `--force`")
    replaced: list[str] = []
    with UserFiles() as files, Writer(files.journal) as writer:
        try:
            if len(changed) > 1:
                files.together([(path, old[path], contents[path]) for path in changed])
            for path in changed:
                before = old[path]
                if before is None:
                    writer.write(path, contents[path])
                elif files.replace(path, before, contents[path]):
                    replaced.append(path)
                else:
                    message = f"`{path}` changed meanwhile; it is left as it is"
                    raise Fault.at(CHANGED_MEANWHILE, message, help="run the command again")
            writer.arrive()
        except BaseException:
            for path in reversed(replaced):
                with contextlib.suppress(Fault):
                    files.replace(path, contents[path], old[path] or b"")
            raise


def _existing(path: str) -> bytes | None:
    """Contents of a file, None if there is none. Raises Fault for what is no file."""
    if not os.path.lexists(path):
        return None
    if not os.path.isfile(path):
        raise Fault.at(NOT_A_FILE, f"cannot write `{path}`: it exists and is not a file")
    try:
        with open(path, "rb") as stream:
            return stream.read()
    except OSError as error:
        raise write_fault(path, error) from None
