"""Which plug-ins the server and its checks use, and what becomes of those that do not load."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from opwright.plugins.active import ACTIVE, Permission
from opwright.plugins.discovery import PluginName, load_plugin
from opwright.plugins.head_names import head_names
from opwright.plugins.permission import permitted_names, refusal
from opwright.plugins.plugin import Plugin
from opwright.plugins.settings import named_plugins
from opwright.plugins.use import ensure_active
from opwright.source.diagnostic import Diagnostic, Diagnostics, Fault, FaultsFound, Label, Severity
from opwright.source.named_tuple import NamedTuple
from opwright.source.project_file import find_project_file
from opwright.source.text import SourceFile

__all__ = ["PluginRequest", "activate_plugins"]


class PluginRequest(NamedTuple):
    """The plug-ins that the command line names, and the folders whose files may name others.

    `folders` are None if the editor says nothing of them; then what the user allowed holds, and nothing else does if
    it says that it does not trust its workspace. With `no_plugins`, no file may name a plug-in.
    """

    words: Sequence[str] = ()
    folders: Sequence[str] | None = None
    no_plugins: bool = False

    def in_workspace(self, is_trusted: bool | None, folders: Sequence[str]) -> PluginRequest:
        """The request in a workspace with these folders. `is_trusted` is None if the editor does not say."""
        return self if is_trusted is None else self._replace(folders=tuple(folders) if is_trusted else ())

    @property
    def permission(self) -> Permission:
        """What files may name."""
        permission = Permission(no_plugins=self.no_plugins, uses_trust=self.folders is None)
        permission.folders = None if self.folders is None else tuple(self.folders)
        return permission


def activate_plugins(request: PluginRequest, texts: Sequence[SourceFile], sink: Diagnostics) -> None:
    """Activate the plug-ins of a request, of the project, and of the heads of open files.

    The sink gets what is wrong with them, at places in the open files, and the process does without these.
    """
    ACTIVE.permission = permission = request.permission
    names = [*_project_names(texts, sink), *map(PluginName, request.words)]
    names += [name for text in texts for name in head_names(text)]
    allowed, refused = permitted_names(names)
    for file in () if permission.no_plugins else dict.fromkeys([name.file for name in refused]):
        own_names = [name for name in refused if name.file == file]
        sink.add(_in_texts(refusal(own_names, Severity.WARNING), texts))
    permission.lacks_plugins = bool(refused)
    plugins: list[Plugin] = []
    for name in allowed:
        try:
            plugin = load_plugin(name)
            ensure_active([*plugins, plugin])
        except (Fault, FaultsFound) as raised:
            permission.lacks_plugins = True
            own = Diagnostics()
            own.take(raised)
            sink.extend([_in_texts(diagnostic, texts, name) for diagnostic in own])
            continue
        plugins.append(plugin)
    ensure_active(plugins)


def _project_names(texts: Iterable[SourceFile], sink: Diagnostics) -> list[PluginName]:
    """The plug-ins that the project file names."""
    path = find_project_file(os.getcwd())
    try:
        return [] if path is None else named_plugins(path)
    except Fault as fault:
        sink.add(_in_texts(fault.diagnostic, tuple(texts)))
        return []


def _in_texts(diagnostic: Diagnostic, texts: Sequence[SourceFile], name: PluginName | None = None) -> Diagnostic:
    """A diagnostic with a place in an open file: where the plug-in is named, else where the file begins."""
    at = diagnostic.span
    if not texts or (at is not None and at.file in texts):
        return diagnostic
    named = None if name is None else name.span
    place = named if named is not None and named.file in texts else texts[0].span(0)
    notes = [] if at is None else [f"at {at}"]
    return diagnostic._replace(labels=(Label(place),), notes=(*notes, *diagnostic.notes))
