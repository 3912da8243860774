"""The plug-ins of a command: which it names, and which are installed."""

from __future__ import annotations

import argparse
import contextlib
import os

from opwright.cli.arguments import settle_plugins
from opwright.cli.streams import say
from opwright.plugins.active import ACTIVE
from opwright.plugins.settings import name_span
from opwright.plugins.use import ensure_active

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from opwright.cli.parser import Parser
    from opwright.plugins.discovery import PluginName
    from opwright.plugins.plugin import Plugin

__all__ = [
    "activate_for_help",
    "activate_installed",
    "plugin_files",
    "reload_plugins",
    "use_plugins",
]


def use_plugins(arguments: argparse.Namespace, parser: Parser) -> None:
    """Activate the plug-ins that a command names, and the installed ones that add what it asks for.

    Ends the process if it asks for something that no plug-in adds. Raises Fault and FaultsFound for faults of plug-ins.
    """
    settle_plugins(arguments)
    named = _load_named(arguments)
    ensure_active(named)
    failures: list[str] = []
    if parser.wrong_choices(arguments):
        unnamed, failures = activate_installed(named)
        if not parser.wrong_choices(arguments):
            ensure_active([*named, *[plugin for plugin in unnamed if _adds_choice(plugin, parser, arguments)]])
    for failure in failures if parser.wrong_choices(arguments) else ():
        say(f"{failure}\n")
    parser.check_choices(arguments)
    arguments.uses_plugins = bool(ACTIVE.plugins)


def reload_plugins(arguments: argparse.Namespace) -> None:
    """Import the active plug-ins whose sources changed again. Raises Fault and FaultsFound for their faults."""
    from opwright.plugins.discovery import PluginName, load_plugin

    unnamed = [plugin.name for plugin in ACTIVE.plugins if not plugin.is_named]
    again = [load_plugin(PluginName(name)).without_changes() for name in unnamed]
    ensure_active([*_load_named(arguments), *again])


def activate_for_help(words: Sequence[str]) -> None:
    """Activate what the help of a command shows: the plug-ins that are named, and all that are installed.

    Says on standard error which do not load.
    """
    from opwright.source.diagnostic import Fault, FaultsFound

    asked = [words[place + 1] for place, word in enumerate(words[:-1]) if word == "--plugin"]
    arguments = argparse.Namespace(plugin=asked)
    named: list[Plugin] = []
    try:
        settle_plugins(arguments)
        named = _load_named(arguments)
        ensure_active(named)
    except (Fault, FaultsFound) as raised:
        say(f"{raised}\n")
        named = []
    for failure in activate_installed(named)[1]:
        say(f"{failure}\n")


def activate_installed(named: Sequence[Plugin]) -> tuple[list[Plugin], list[str]]:
    """Activate the installed plug-ins beside those that are named; gives them, and a text for each that fails."""
    from opwright.plugins.discovery import PluginName, installed_plugins, load_plugin
    from opwright.source.diagnostic import Fault, FaultsFound

    unnamed: list[Plugin] = []
    failures: list[str] = []
    names = [plugin.name for plugin in named]
    for name in installed_plugins():
        if name in names:
            continue
        try:
            plugin = load_plugin(PluginName(name)).without_changes()
            ensure_active([*named, *unnamed, plugin])
            unnamed.append(plugin)
        except (Fault, FaultsFound) as raised:
            failures.append(f"opwright: the installed plug-in `{name}` is not used: {raised}")
    ensure_active([*named, *unnamed])
    return unnamed, failures


def _adds_choice(plugin: Plugin, parser: Parser, arguments: argparse.Namespace) -> bool:
    """Whether a plug-in adds something that a command asks for by name."""
    added = {row.name for row in plugin.families} | {row.name for row in plugin.dialects} | {f"{plugin.name}_headers"}
    return not parser.late_names(arguments).isdisjoint(added)


def _load_named(arguments: argparse.Namespace) -> list[Plugin]:
    """The plug-ins that a command names, each once. Raises FaultsFound with the faults of all that do not load."""
    heads = _head_names(arguments)
    if not arguments.plugin and not heads:
        return []
    from opwright.plugins.discovery import PluginName, load_plugin
    from opwright.source.diagnostic import Diagnostics, Fault, FaultsFound

    sink = Diagnostics()
    plugins: dict[Plugin, None] = {}
    project = arguments.project_file
    spans = {
        name: None if project is None or name in arguments.plugin_words else name_span(project, name)
        for name in arguments.plugin
    }
    for name in [*[PluginName(text, span) for text, span in spans.items()], *heads]:
        try:
            plugins[load_plugin(name)] = None
        except (Fault, FaultsFound) as raised:
            sink.take(raised)
    sink.raise_if_errors()
    return list(plugins)


def _head_names(arguments: argparse.Namespace) -> list[PluginName]:
    """The plug-ins that the heads of the library and backend files of a command name."""
    from opwright.plugins.head_names import head_names
    from opwright.source.diagnostic import Fault
    from opwright.source.text import SourceFile

    asked = vars(arguments)
    backends = asked.get("backend") or []
    paths = [*(asked.get("library") or []), *([backends] if isinstance(backends, str) else backends)]
    names: list[PluginName] = []
    for path in [*paths, *(asked.get("files") or [])]:
        if os.path.isfile(path):
            # Loading the file reports what is wrong with it.
            with contextlib.suppress(Fault):
                names += head_names(SourceFile.read(path))
    return names


def plugin_files(arguments: argparse.Namespace) -> list[str]:
    """The files, and folders of files, of the active plug-ins, and the project file if it names plug-ins."""
    if not ACTIVE.plugins:
        return []
    from opwright.plugins.sources import source_paths

    paths = source_paths(ACTIVE.plugins)
    return paths if arguments.project_file is None else [*paths, arguments.project_file]
