"""The plug-ins that a project names: `plugins` in the table `[tool.opwright]` of the nearest `pyproject.toml`."""

from __future__ import annotations

import os
import re

from opwright.source.codes import WRONG_NAMES
from opwright.source.diagnostic import Fault
from opwright.source.project_file import load_toml
from opwright.source.text import SourceFile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from opwright.plugins.discovery import PluginName
    from opwright.source.span import Span

__all__ = ["name_span", "named_plugins", "project_plugins"]


def project_plugins(path: str, data: bytes) -> list[str]:
    """The plug-ins that a file with these contents names, those at paths relative to the working folder.

    Raises Fault if they are no list of texts. A file that is not TOML names none.
    """
    names = _names(data)
    if names is None:
        return []
    if not isinstance(names, list) or not all(isinstance(name, str) and name for name in names):
        message = f"`plugins` of `[tool.opwright]` in `{os.path.basename(path)}` is not a list of names"
        raise Fault.at(WRONG_NAMES, message, name_span(path, "plugins"), help='write `plugins = ["NAME"]`')
    folder = os.path.relpath(os.path.dirname(os.path.abspath(path)))
    return [os.path.normpath(os.path.join(folder, name)) if _is_path(name) else name for name in names]


def named_plugins(path: str) -> list[PluginName]:
    """The plug-ins that a project file names. Raises Fault if they are no list of texts, or it cannot be read."""
    from opwright.plugins.discovery import PluginName

    data = SourceFile.read(path).text.encode()
    return [PluginName(text, name_span(path, text), path) for text in project_plugins(path, data)]


def _names(data: bytes) -> object:
    """The value of `plugins` in the table; None if there is none."""
    try:
        table: object = load_toml(data.decode())
    except ValueError:
        return None
    for name in ("tool", "opwright", "plugins"):
        table = table.get(name) if isinstance(table, dict) else None
    return table


def _is_path(name: str) -> bool:
    from opwright.plugins.discovery import is_path

    return is_path(name)


def name_span(path: str, name: str) -> Span | None:
    """The place of a name in a file; None if it cannot be found."""
    from opwright.plugins.guard import shown_path

    file = SourceFile.read(shown_path(path))
    match = re.search(rf"(?<![\w./]){re.escape(name)}(?![\w/])", file.text)
    return None if match is None else file.span(match.start(), match.end())
