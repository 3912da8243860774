"""The plug-ins that the heads of library and backend files name."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from opwright.plugins.active import ACTIVE
from opwright.source.diagnostic import Diagnostics, Fault
from opwright.source.patterns import lazy_pattern
from opwright.source.text import SourceFile

if TYPE_CHECKING:
    from opwright.plugins.discovery import PluginName
    from opwright.plugins.plugin import Plugin

__all__ = ["head_names", "with_head_plugins"]

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
