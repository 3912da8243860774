"""The plug-ins that the user trusts: `opwright trust` keeps them in the user's own configuration.

An entry has a folder, and the fingerprints of the plug-ins that files below this folder may name. A plug-in whose
sources changed is not trusted until the user trusts it again.
"""

from __future__ import annotations

import enum
import json
import os
import sys
from collections.abc import Mapping
from typing import Final

from opwright.plugins.discovery import PluginName, find_module
from opwright.plugins.sources import static_sources
from opwright.source.codes import DAMAGED_TRUST
from opwright.source.diagnostic import Fault

__all__ = ["TrustAnswer", "ask_trust", "is_below", "load_trust", "plugin_fingerprint", "trust_path", "trust_text"]

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
