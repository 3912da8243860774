"""List plug-ins: those that are installed, those that the command names, and what each adds.

  opwright plugins                    installed ones
  opwright plugins --plugin acme.py   this one too

Installed plug-ins add families, kinds of input files and codes. A run uses the rest of a plug-in only if it names the
plug-in with `--plugin`. No file names plug-ins."""

from __future__ import annotations

import argparse

from opwright.cli import console
from opwright.cli.arguments import add_plugin_argument
from opwright.plugins.active import ACTIVE
from opwright.plugins.discovery import installed_plugins, load_plugin
from opwright.plugins.plugin import Plugin
from opwright.plugins.sources import shown_path
from opwright.plugins.use import ensure_active
from opwright.source.diagnostic import Diagnostics, Fault, FaultsFound
from opwright.source.terminal import tell


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    add_plugin_argument(parser)


def run(arguments: argparse.Namespace, sink: Diagnostics) -> int:
    """Print the list. Installed plug-ins that do not load are errors."""
    del arguments
    named = ACTIVE.plugins
    blocks = [_block(plugin, "named") for plugin in named]
    for name, point in installed_plugins().items():
        if name in [plugin.name for plugin in named]:
            continue
        try:
            plugin = load_plugin(name)
            ensure_active([*named, plugin.without_changes()])
        except (Fault, FaultsFound) as raised:
            sink.take(raised)
            continue
        package = "" if point.dist is None else f" with {point.dist.name} {point.dist.version}"
        blocks.append(_block(plugin, f"installed{package}"))
    ensure_active(named)
    divided = [line for block in blocks for line in ("", *block)]
    tell(*divided[1:] or ["no plug-in is installed or named"])
    return console.SUCCESS


def _block(plugin: Plugin, how: str) -> list[str]:
    version = f" {plugin.version}" if plugin.version else ""
    lines = [f"{plugin.name}{version} ({how})", f"  file: {shown_path(plugin.file)}"]
    for title, names in _contents(plugin):
        if names:
            lines.append(f"  {title}: {', '.join(names)}")
    return lines


def _contents(plugin: Plugin) -> list[tuple[str, list[str]]]:
    """What a plug-in adds, with the names of all rows that have one."""
    keys = [f"{key.name} ({key.where})" for key in plugin.extra_keys]
    return [
        ("families", [f"{family.name} ({family.help})" for family in plugin.families]),
        ("dialects", [dialect.name for dialect in plugin.dialects]),
        ("codes", [code.code for code in plugin.codes]),
        ("lints", [lint.lint.code for lint in plugin.lints]),
        ("extra keys", keys),
        ("readers of backend files", [reader.name for reader in plugin.backend_readers]),
        ("wrapper hooks", [hook.position.name for hook in plugin.wrapper_hooks]),
        ("kernel selectors", [selector.name for selector in plugin.kernel_selectors]),
        ("registration changes", [getattr(change, "__name__", "change") for change in plugin.registration_changes]),
        ("kernel conventions", [convention.name for convention in plugin.kernel_conventions]),
        ("templates", [plugin.templates] if plugin.templates else []),
        ("support headers", [plugin.headers] if plugin.headers else []),
    ]
