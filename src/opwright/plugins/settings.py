"""The plug-ins that a project names: `plugins` in the table `[tool.opwright]` of the nearest `pyproject.toml`.

Programs read it before they know whether there is anything to do, so this module imports little.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

    from opwright.source.span import Span

__all__ = ["FILE_NAME", "find_project_file", "name_span", "project_plugins"]

FILE_NAME: Final = "pyproject.toml"


def find_project_file(folder: str) -> str | None:
    """The path of the nearest `pyproject.toml` in a folder or above it; None if there is none."""
    current = os.path.abspath(folder)
    while True:
        path = os.path.join(current, FILE_NAME)
        if os.path.isfile(path):
            return path
        above = os.path.dirname(current)
        if above == current:
            return None
        current = above


def project_plugins(path: str | None) -> list[str]:
    """The plug-ins that a file names, those at paths relative to the working folder.

    Raises Fault if they are no list of texts. A file that is not TOML names none.
    """
    if path is None:
        return []
    try:
        with open(path, "rb") as stream:
            data = stream.read()
    except OSError:
        return []
    if b"opwright" not in data or b"plugins" not in data:
        return []
    names = _names(data)
    if names is None:
        return []
    if not isinstance(names, list) or not all(isinstance(name, str) and name for name in names):
        from opwright.plugins.codes import WRONG_NAMES
        from opwright.source.diagnostic import Fault

        message = f"`plugins` of `[tool.opwright]` in `{FILE_NAME}` is not a list of names"
        raise Fault.at(WRONG_NAMES, message, name_span(path, "plugins"), help='write `plugins = ["NAME"]`')
    folder = os.path.relpath(os.path.dirname(path))
    return [os.path.normpath(os.path.join(folder, name)) if _is_path(name) else name for name in names]


def _names(data: bytes) -> object:
    """The value of `plugins` in the table; None if there is none."""
    try:
        import tomllib
    except ModuleNotFoundError:
        # Python 3.10 lacks it.
        import tomli as tomllib
    try:
        table = tomllib.loads(data.decode()).get("tool", {}).get("opwright", {})
        return table.get("plugins")
    except (ValueError, AttributeError):
        return None


def _is_path(name: str) -> bool:
    from opwright.plugins.discovery import is_path

    return is_path(name)


def name_span(path: str, name: str) -> Span | None:
    """The place of a name in a file; None if it cannot be found."""
    import re

    from opwright.plugins.faults import shown_path
    from opwright.source.text import SourceFile

    file = SourceFile.read(shown_path(path))
    match = re.search(rf"(?<![\w./]){re.escape(name)}(?![\w/])", file.text)
    return None if match is None else file.span(match.start(), match.end())
