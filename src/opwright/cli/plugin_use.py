"""Plug-ins of a command: which it names, and which are installed."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from opwright.cli.arguments import settle_plugins
from opwright.plugins.active import ACTIVE
from opwright.plugins.discovery import installed_plugins, load_plugin
from opwright.plugins.use import ensure_active
from opwright.source.diagnostic import Diagnostics, Fault, FaultsFound
from opwright.source.terminal import say

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from opwright.cli.arguments import Parser
    from opwright.plugins.plugin import Plugin


def use_plugins(arguments: argparse.Namespace, parser: Parser) -> None:
    """Activate the plug-ins that a command names, and the installed ones that add what it asks for.

    Ends the process if it asks for something that no plug-in adds. Raises Fault and FaultsFound for faults of plug-ins.
    """
    settle_plugins(arguments)
    named = _load_named(arguments.plugin)
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
    unnamed = [plugin.name for plugin in ACTIVE.plugins if not plugin.is_named]
    again = [load_plugin(name).without_changes() for name in unnamed]
    ensure_active([*_load_named(arguments.plugin), *again])


def activate_for_help(words: Sequence[str]) -> None:
    """Activate what the help of a command shows: the plug-ins that are named, and all that are installed.

    Says on standard error which do not load.
    """
    asked = [words[place + 1] for place, word in enumerate(words[:-1]) if word == "--plugin"]
    named: list[Plugin] = []
    try:
        named = _load_named(asked)
        ensure_active(named)
    except (Fault, FaultsFound) as raised:
        say(f"{raised}\n")
        named = []
    for failure in activate_installed(named)[1]:
        say(f"{failure}\n")


def activate_installed(named: Sequence[Plugin]) -> tuple[list[Plugin], list[str]]:
    """Activate the installed plug-ins beside those that are named; gives them, and a text for each that fails."""
    unnamed: list[Plugin] = []
    failures: list[str] = []
    names = [plugin.name for plugin in named]
    for name in installed_plugins():
        if name in names:
            continue
        try:
            plugin = load_plugin(name).without_changes()
            ensure_active([*named, *unnamed, plugin])
            unnamed.append(plugin)
        except (Fault, FaultsFound) as raised:
            failures.append(f"opwright: the installed plug-in `{name}` is not used: {raised}")
    ensure_active([*named, *unnamed])
    return unnamed, failures


def _adds_choice(plugin: Plugin, parser: Parser, arguments: argparse.Namespace) -> bool:
    """Whether a plug-in adds something that a command asks for by name."""
    added = {row.name for row in plugin.families} | {row.name for row in plugin.dialects} | {f"{plugin.name}_headers"}
    return not parser.plugin_names(arguments).isdisjoint(added)


def _load_named(names: Iterable[str]) -> list[Plugin]:
    """Plug-ins of these names, each once. Raises FaultsFound with the faults of all that do not load."""
    sink = Diagnostics()
    plugins: dict[Plugin, None] = {}
    for name in names:
        try:
            plugins[load_plugin(name)] = None
        except (Fault, FaultsFound) as raised:
            sink.take(raised)
    sink.raise_if_errors()
    return list(plugins)
