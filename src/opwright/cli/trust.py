"""Allow the plug-ins that the files of a folder name: plug-ins are programs, and files alone do not run them.

  opwright trust .             allow those that pyproject.toml, library and backend files below `.` name now
  opwright trust --list        what you allowed
  opwright trust --remove .    allow them no longer

Nothing is imported. What you allow is in your own configuration, with a fingerprint of the sources of each plug-in;
after a change of these, Opwright does not load the plug-in until you run the command again."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator

from opwright.cli import console
from opwright.cli.arguments import not_empty
from opwright.files.writer import write_file
from opwright.plugins.discovery import PluginName, find_module
from opwright.plugins.guard import shown_path
from opwright.plugins.permission import load_trust, trust_path, trust_text
from opwright.plugins.settings import head_names, named_plugins
from opwright.plugins.sources import static_sources
from opwright.run.file_kinds import expand_folders
from opwright.source.codes import UNKNOWN_PLUGIN
from opwright.source.diagnostic import Diagnostics, Fault
from opwright.source.project_file import PROJECT_FILE
from opwright.source.terminal import say, tell
from opwright.source.text import SourceFile


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("folder", metavar="DIR", nargs="?", type=not_empty, help="the folder of a project")
    action = parser.add_mutually_exclusive_group()
    action.add_argument("--list", action="store_true", help="list what you allowed, and what changed since")
    action.add_argument("--remove", action="store_true", help="allow the plug-ins of the folder no longer")


def run(arguments: argparse.Namespace, sink: Diagnostics) -> int:
    """Change what the user trusts, or list it."""
    if arguments.list:
        _print_trust()
        return console.SUCCESS
    if arguments.folder is None or not (arguments.remove or os.path.isdir(arguments.folder)):
        what = "name a folder" if arguments.folder is None else f"`{arguments.folder}` is no folder"
        say(f"opwright trust: error: {what}\n")
        return console.USAGE
    folder = os.path.realpath(arguments.folder)
    if arguments.remove:
        return _remove(folder)
    return _trust(folder, sink)


def _trust(folder: str, sink: Diagnostics) -> int:
    """Trust the plug-ins that files below a folder name. Raises FaultsFound for one that does not exist."""
    trust = load_trust()
    fingerprints: dict[str, str] = {}
    lines: dict[str, str] = {}
    for name in _names_below(folder, sink):
        file = find_module(name)
        if file is None:
            message = f"no plug-in `{name.text}`: nothing that can be imported has this name"
            sink.error(UNKNOWN_PLUGIN, message, name.span)
            continue
        sources = static_sources(file)
        fingerprints[name.identity] = sources.fingerprint()
        count = len(sources.files)
        files = f"{count} file{'' if count == 1 else 's'}"
        lines.setdefault(file, f"  {shown_path(file)} ({files}), which {shown_path(name.file)} names")
    sink.raise_if_errors()
    if not fingerprints:
        tell(f"no file below {folder} names a plug-in")
        return console.SUCCESS
    _save({**trust, folder: fingerprints})
    tell(f"allowed for files below {folder}:", *lines.values())
    return console.SUCCESS


def _names_below(folder: str, sink: Diagnostics) -> Iterator[PluginName]:
    """The plug-ins that project files, library files and backend files below a folder name. Faults go to the sink."""
    shown = os.path.relpath(folder)
    for place, folders, names in os.walk(shown):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        if PROJECT_FILE in names:
            try:
                yield from named_plugins(os.path.normpath(os.path.join(place, PROJECT_FILE)))
            except Fault as fault:
                sink.add(fault.diagnostic)
    for path in expand_folders([shown]):
        try:
            yield from head_names(SourceFile.read(path))
        except Fault as fault:
            sink.add(fault.diagnostic)


def _remove(folder: str) -> int:
    """Forget what the user trusts in a folder, which may be gone."""
    trust = load_trust()
    if folder not in trust:
        say(f"opwright trust: nothing is allowed for {folder}; `opwright trust --list` lists what is\n")
        return console.FAULTS
    del trust[folder]
    _save(trust)
    tell(f"no plug-in is allowed for files below {folder}")
    return console.SUCCESS


def _save(trust: dict[str, dict[str, str]]) -> None:
    path = trust_path()
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    write_file(path, trust_text(trust).encode())


def _print_trust() -> None:
    """Print what the user trusts, and which plug-ins changed since."""
    trust = load_trust()
    if not trust:
        tell("no plug-in is allowed")
    for folder, plugins in sorted(trust.items()):
        tell(f"files below {folder}")
        for identity, fingerprint in sorted(plugins.items()):
            file = find_module(PluginName(identity))
            changed = file is None or static_sources(file).fingerprint() != fingerprint
            tell(f"  {identity}{' (changed since, not allowed)' if changed else ''}")
