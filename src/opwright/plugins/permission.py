"""Which of the plug-ins that files name a process imports: files declare plug-ins, and people allow them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from shlex import quote
from typing import TYPE_CHECKING, Final

from opwright.plugins.active import ACTIVE
from opwright.plugins.discovery import PluginName, is_one_of
from opwright.plugins.trust import TrustAnswer, ask_trust, is_below
from opwright.source.codes import LEFT_OUT, NOT_ALLOWED
from opwright.source.diagnostic import Diagnostic, Label, Severity

if TYPE_CHECKING:
    from opwright.plugins.plugin import Plugin

__all__ = ["ALLOWED_FOLDERS", "permitted_names", "refusal"]

#: The variable of a build's environment with the folders whose files may name plug-ins.
ALLOWED_FOLDERS: Final = "OPWRIGHT_ALLOW_PLUGINS"


def permitted_names(
    names: Iterable[PluginName], *, given: Sequence[Plugin] = ()
) -> tuple[list[PluginName], list[PluginName]]:
    """The names of plug-ins that this process may import, and those that it may not.

    It may import what the command line names, what the program has imported already, and what the user allowed.
    """
    names = list(names)
    own = {name.identity for name in names if not name.file}
    allowed: list[PluginName] = []
    refused: list[PluginName] = []
    for name in names:
        is_allowed = not name.file or name.identity in own or is_one_of(name, given) or _is_allowed(name)
        (allowed if is_allowed else refused).append(name)
    return allowed, refused


def _is_allowed(name: PluginName) -> bool:
    """Whether the user allowed that a file names a plug-in."""
    permission = ACTIVE.permission
    if permission.no_plugins:
        return False
    folders = permission.folders
    if folders is None:
        folders = tuple(filter(None, os.environ.get(ALLOWED_FOLDERS, "").split(os.pathsep)))
    if any(is_below(name.file, folder) for folder in folders):
        return True
    return permission.uses_trust and ask_trust(name) is TrustAnswer.TRUSTED


def refusal(names: Sequence[PluginName], severity: Severity = Severity.ERROR) -> Diagnostic:
    """The diagnostic that names plug-ins that are not loaded, and how to allow them."""
    texts = list(dict.fromkeys([name.text for name in names]))
    files = list(dict.fromkeys([name.file for name in names]))
    them = "it" if len(texts) == 1 else "them"
    plugins = f"plug-in {_name_list(texts)} is" if len(texts) == 1 else f"plug-ins {_name_list(texts)} are"
    verb = "names" if len(files) == 1 else "name"
    message = f"{plugins} not loaded: {_name_list(files)} {verb} {them}, and you have not allowed {them}"
    changed = [name.text for name in names if ask_trust(name) is TrustAnswer.CHANGED]
    notes = [f"{_name_list(list(dict.fromkeys(changed)))} changed since you trusted {them}"] if changed else []
    folder = os.path.dirname(files[0]) or os.curdir
    words = " ".join([f"--plugin {quote(text)}" for text in texts])
    help = f"`opwright trust {quote(folder)}` allows {them}; `{words}` for one run; `--no-plugins` does without {them}"
    labels = [Label(name.span) for name in names if name.span is not None]
    code = NOT_ALLOWED if severity is Severity.ERROR else LEFT_OUT
    return Diagnostic(code, severity, message, tuple(labels), tuple(notes), help)


def _name_list(texts: Sequence[str]) -> str:
    """Texts in quotes, with commas, and `and` before the last one."""
    quoted = [f"`{text}`" for text in texts]
    return " and ".join(filter(None, [", ".join(quoted[:-1]), *quoted[-1:]]))
