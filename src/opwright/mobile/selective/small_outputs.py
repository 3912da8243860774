"""Writing the few small files of a program that keeps no state. Files that are up to date are not touched."""

from __future__ import annotations

import os
from collections.abc import Mapping


def write_outputs(outputs: Mapping[str, str]) -> int:
    """Write files by path, whole or not at all, and count those that differed.

    Raises Fault (E0605 to E0608) as `Writer` does; all files are then as they were.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     outputs = {f"{folder}/selected_operators.yaml": "operators: {}\\n"}
    ...     [write_outputs(outputs), write_outputs(outputs)]
    [1, 0]
    """
    data = {path: text.encode() for path, text in outputs.items()}
    changed = [path for path, content in data.items() if not _holds(path, content)]
    if changed:
        from opwright.files.staging import remove_old_staging
        from opwright.files.writer import Writer

        remove_old_staging({os.path.dirname(path) or "." for path in changed})
        with Writer() as writer:
            for path in changed:
                writer.write(path, data[path])
    return len(changed)


def _holds(path: str, content: bytes) -> bool:
    """Whether a path is a file, not a link, that holds exactly these bytes."""
    if os.path.islink(path) or not os.path.isfile(path):
        return False
    try:
        with open(path, "rb") as stream:
            return stream.read(len(content) + 1) == content
    except OSError:
        return False
