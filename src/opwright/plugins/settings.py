"""The plug-ins that a project names in its `pyproject.toml`, and those that heads of library and backend files name."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence

from opwright.plugins.active import ACTIVE
from opwright.source.codes import WRONG_NAMES
from opwright.source.diagnostic import Diagnostics, Fault
from opwright.source.limits import lazy_pattern
from opwright.source.project_file import load_toml
from opwright.source.text import SourceFile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from opwright.plugins.discovery import PluginName
    from opwright.source.span import Span
if TYPE_CHECKING:
    from opwright.plugins.discovery import PluginName
    from opwright.plugins.plugin import Plugin


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


_FIELD = lazy_pattern(r"(?m)^[\"']?plugins[\"']?[ \t]*:")


def head_names(file: SourceFile) -> list[PluginName]:
    """The plug-ins that the head of a file names. Loading the file reports what is wrong with it."""
    if _FIELD.search(file.text) is None:
        return []
    from opwright.plugins.discovery import PluginName, is_path
    from opwright.source.expect import expect_strings
    from opwright.source.nodes import Mapping
    from opwright.source.yaml import load_yaml

    try:
        root = load_yaml(file)
    except Fault:
        return []
    node = root.get("plugins") if isinstance(root, Mapping) else None
    items = None if node is None else expect_strings(node, "`plugins`", Diagnostics())
    # A name without a slash would be that of a module.
    folder = os.path.dirname(file.path) or os.curdir
    return [
        PluginName(
            os.path.join(folder, os.path.normpath(item.value)) if is_path(item.value) else item.value,
            item.span,
            file.path,
        )
        for item in items or ()
    ]


def with_head_plugins(plugins: Sequence[Plugin], files: Iterable[SourceFile]) -> tuple[Plugin, ...]:
    """The plug-ins, and those that the heads of files name.

    Raises Fault for one that does not load, or that nobody allowed (E2314).
    """
    names = [name for file in files for name in head_names(file)]
    if not names:
        return tuple(plugins)
    from opwright.plugins.discovery import load_plugin
    from opwright.plugins.permission import permitted_names, refusal

    allowed, refused = permitted_names(names, given=plugins)
    if refused and not ACTIVE.permission.no_plugins and not ACTIVE.permission.lacks_plugins:
        raise Fault(refusal(refused))
    return tuple(dict.fromkeys([*plugins, *map(load_plugin, allowed)]))
