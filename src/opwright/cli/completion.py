"""Print what a shell needs to complete commands, options, their values, and operators.

  eval "$(opwright completion bash)"     in ~/.bashrc
  eval "$(opwright completion zsh)"      in ~/.zshrc, after compinit
  opwright completion fish | source      in ~/.config/fish/config.fish

It needs the package argcomplete: pip install 'opwright[completion]'."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterable, Mapping
from types import ModuleType
from typing import Final

from opwright.cli import console
from opwright.cli.arguments import Parser
from opwright.source.diagnostic import Diagnostics, Fault
from opwright.source.terminal import print_rendered

_SHELLS: Final = ("bash", "zsh", "fish")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("shell", choices=_SHELLS, metavar="SHELL", help=", ".join(_SHELLS))


def run(arguments: argparse.Namespace, sink: Diagnostics) -> int:
    """Print the code for the shell."""
    del sink
    try:
        from argcomplete.shell_integration import shellcode
    except ImportError:
        return console.report_missing("argcomplete", "completion")
    print_rendered(shellcode(["opwright"], shell=arguments.shell) + "\n")
    return console.SUCCESS


def complete(parser: Parser, commands: Mapping[str, str], load: Callable[[str], ModuleType]) -> None:
    """Answer the shell, whose variables have the words so far, and end the process.

    `load` imports the module of a command: only that of the command on the line.
    """
    from argcomplete import autocomplete

    words = os.environ.get("COMP_LINE", "").split()[1:2]
    subparsers = parser.add_subparsers(parser_class=argparse.ArgumentParser)
    for name, text in commands.items():
        command_parser = subparsers.add_parser(name, help=text)
        if [name] == words:
            load(name).add_arguments(command_parser)
            if name == "explain":
                _positional(command_parser).completer = operator_names  # type: ignore[attr-defined]
    autocomplete(parser, always_complete_options=False)


def _positional(parser: argparse.ArgumentParser) -> argparse.Action:
    return next(action for action in parser._actions if not action.option_strings)


def operator_names(prefix: str, **_: object) -> Iterable[str]:
    """Operators of the installed PyTorch that begin with these characters, with their overloads."""
    from opwright.dialects.native_functions.scope import operator_of
    from opwright.release.inputs import open_inputs
    from opwright.release.view import NATIVE_FUNCTIONS
    from opwright.source.items import split_items

    try:
        text = open_inputs("auto").read_text(NATIVE_FUNCTIONS).text
    except Fault:
        return ()
    return [name for _, item in split_items(text) if (name := operator_of(item)) and name.startswith(prefix)]
