"""The plug-ins that a command and its project name, as arguments."""

from __future__ import annotations

import os
import sys

from opwright.cli.arguments import not_empty

# A program declares its arguments before it knows whether there is anything to do.
TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse


def add_plugin_argument(parser: argparse.ArgumentParser) -> None:
    """Declare `--plugin`."""
    parser.add_argument(
        "--plugin",
        metavar="NAME",
        action="append",
        default=[],
        type=not_empty,
        help="use this plug-in: an installed one, a module, or the path of a file or folder (may be repeated; files "
        "may name plug-ins too, which `opwright trust` allows)",
    )


def add_no_plugins_argument(parser: argparse.ArgumentParser) -> None:
    """Declare `--no-plugins`."""
    parser.add_argument(
        "--no-plugins", action="store_true", help="use no plug-in that a file names, whatever you allowed"
    )


def settle_plugins(arguments: argparse.Namespace) -> None:
    """Add the plug-ins that the project names to those of a command's arguments. Raises Fault if they are no names.

    Further calls do nothing. `uses_plugins` then tells whether the command names plug-ins, or families that only a
    plug-in may add.
    """
    if "plugin" not in arguments or "uses_plugins" in arguments:
        return
    from opwright.emit.registry import FAMILIES
    from opwright.source.project_file import find_project_file

    asked = vars(arguments)
    is_alone = is_isolated(arguments) or asked.get("no_plugins")
    path = None if is_alone else asked.get("config") or find_project_file(os.getcwd())
    named: list[str] = []
    if path is not None and os.path.isfile(path):
        with open(path, "rb") as stream:
            data = stream.read()
        if b"opwright" in data and b"plugins" in data:
            from opwright.plugins.settings import project_plugins

            named = project_plugins(path, data)
    arguments.project_file, arguments.plugin_words = path if named else None, arguments.plugin
    arguments.head_plugins = []
    arguments.plugin = list(dict.fromkeys([*named, *arguments.plugin]))
    arguments.uses_plugins = bool(arguments.plugin) or any(name not in FAMILIES for name in asked.get("only") or ())
    # Names mean something else where modules are found elsewhere.
    arguments.plugin_path = list(sys.path) if arguments.uses_plugins else []


def is_isolated(arguments: argparse.Namespace) -> bool:
    """Whether a command uses no settings of the project or the user."""
    asked = vars(arguments)
    return bool(asked.get("isolated") or asked.get("hermetic"))
