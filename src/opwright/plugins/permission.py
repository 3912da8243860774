"""Which of the plug-ins that files name a process imports: files declare plug-ins, and people allow them.

An entry has a folder, and the fingerprints of the plug-ins that files below this folder may name. A plug-in whose
sources changed is not trusted until the user trusts it again.
"""

from __future__ import annotations

import enum
import json
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from shlex import quote
from typing import TYPE_CHECKING, Final

from opwright.plugins.active import ACTIVE
from opwright.plugins.discovery import PluginName, find_module, is_one_of
from opwright.plugins.sources import static_sources
from opwright.source.codes import DAMAGED_TRUST, LEFT_OUT, NOT_ALLOWED
from opwright.source.diagnostic import Diagnostic, Fault, Label, Severity

if TYPE_CHECKING:
    from opwright.plugins.plugin import Plugin

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


_VERSION: Final = 1

#: Folder -> identity of a plug-in -> fingerprint of its sources.
Trust = Mapping[str, Mapping[str, str]]


class TrustAnswer(enum.Enum):
    """Whether the user trusts a plug-in that a file names."""

    UNKNOWN = "unknown"
    TRUSTED = "trusted"
    CHANGED = "changed"


def trust_path() -> str:
    """The path of the file with what the user trusts: `OPWRIGHT_CONFIG_DIR`, else in the user's configuration."""
    named = os.environ.get("OPWRIGHT_CONFIG_DIR")
    if named:
        folder = os.path.abspath(os.path.expanduser(named))
    elif sys.platform == "linux" and "ANDROID_DATA" not in os.environ:
        root = os.environ.get("XDG_CONFIG_HOME", "").strip() or os.path.expanduser("~/.config")
        folder = os.path.join(root, "opwright")
    else:
        from platformdirs import user_config_dir

        folder = user_config_dir("opwright", appauthor=False)
    return os.path.join(folder, "trust.json")


def load_trust() -> dict[str, dict[str, str]]:
    """What the user trusts: the fingerprints of plug-ins, by folder and plug-in. Raises Fault if the file is damaged.

    The file belongs to the user, so nothing replaces one that cannot be read.
    """
    path = trust_path()
    try:
        with open(path, encoding="utf-8") as stream:
            document = json.load(stream)
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError) as error:
        raise _damage_fault(path, str(error)) from None
    folders = document.get("folders") if isinstance(document, dict) and document.get("version") == _VERSION else None
    if not isinstance(folders, dict) or not all(map(_is_entry, folders.values())):
        raise _damage_fault(path, f"it is not of version {_VERSION}")
    return folders


def _is_entry(value: object) -> bool:
    return isinstance(value, dict) and all(isinstance(fingerprint, str) for fingerprint in value.values())


def _damage_fault(path: str, reason: str) -> Fault:
    help = "correct or remove the file, and trust the folders again"
    return Fault.at(DAMAGED_TRUST, f"`{path}` cannot be read: {reason}", help=help)


def trust_text(folders: Trust) -> str:
    """The text of the file with what the user trusts."""
    return json.dumps({"version": _VERSION, "folders": folders}, indent=1, sort_keys=True) + "\n"


def plugin_fingerprint(name: PluginName) -> str | None:
    """The fingerprint of the sources of a plug-in, none of which is imported; None if there is no such plug-in."""
    file = find_module(name)
    return None if file is None else static_sources(file).fingerprint()


def ask_trust(name: PluginName) -> TrustAnswer:
    """Whether the user trusts a plug-in that a file names. Opens it only if the user trusted it once."""
    try:
        trust = load_trust()
    except Fault:
        return TrustAnswer.UNKNOWN
    fingerprints = _trusted_fingerprints(trust, name)
    if not fingerprints:
        return TrustAnswer.UNKNOWN
    return TrustAnswer.TRUSTED if plugin_fingerprint(name) in fingerprints else TrustAnswer.CHANGED


def _trusted_fingerprints(trust: Trust, name: PluginName) -> list[str]:
    entries = [own for folder, own in trust.items() if is_below(name.file, folder)]
    return [own[name.identity] for own in entries if name.identity in own]


def is_below(path: str, folder: str) -> bool:
    """Whether a file is in a folder or below it, once links are followed.

    >>> is_below("/build/ops.yaml", "/build"), is_below("/builds/ops.yaml", "/build")
    (True, False)
    """
    top = os.path.join(os.path.realpath(folder), "")
    return os.path.realpath(path).startswith(top)
