"""Print what a shell needs to complete commands, options, their values, and operators.

  eval "$(opwright completion bash)"     in ~/.bashrc
  eval "$(opwright completion zsh)"      in ~/.zshrc, after compinit
  opwright completion fish | source      in ~/.config/fish/config.fish

Codes, releases and the operators of the installed PyTorch are completed as well."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Callable, Iterable, Mapping
from types import ModuleType
from typing import Final

from opwright.cli import console
from opwright.cli.arguments import Parser
from opwright.source.diagnostic import Diagnostics, Fault
from opwright.source.terminal import print_document

_SHELLS: Final = ("bash", "zsh", "fish")
#: Where the first clause of a help text ends.
_CLAUSE_END: Final = re.compile(r"[:;,(]|\.\s")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("shell", choices=_SHELLS, metavar="SHELL", help=", ".join(_SHELLS))


def run(arguments: argparse.Namespace, sink: Diagnostics) -> int:
    """Print the code for the shell."""
    del sink
    try:
        from argcomplete.shell_integration import shellcode
    except ImportError:
        return console.report_missing("argcomplete", "completion", "argcomplete")
    print_document(shellcode(["opwright"], shell=arguments.shell) + "\n")
    return console.SUCCESS


def complete(parser: Parser, commands: Mapping[str, str], load: Callable[[str], ModuleType]) -> None:
    """Answer the shell, whose variables have the words so far, and end the process.

    `load` imports the module of a command: only that of the command on the line.
    """
    from argcomplete import autocomplete

    words = os.environ.get("COMP_LINE", "").split()[1:2]
    subparsers = parser.add_subparsers(parser_class=_CommandParser)
    for name, text in commands.items():
        command_parser = subparsers.add_parser(name, help=text)
        if [name] == words:
            load(name).add_arguments(command_parser)
            for action in command_parser._actions:
                # Shells show the help beside each option, in a line.
                action.help = _CLAUSE_END.split(action.help or "")[0].strip()
                completer = _COMPLETERS.get((name, action.dest)) or _COMPLETERS.get(("", action.dest))
                if completer is not None:
                    action.completer = completer  # type: ignore[attr-defined]
    autocomplete(parser, always_complete_options=False)


class _CommandParser(Parser):
    """Parser of a command. From Python 3.14 on, `argparse` says more of it than its name."""

    def __init__(self, prog: str, **_: object) -> None:
        super().__init__(prog)


def release_names(prefix: str, **_: object) -> Iterable[str]:
    """The releases of PyTorch that have rules, and those that are cached."""
    from opwright.release.version import RELEASES
    from opwright.wheels.cache import cached_versions

    versions = dict.fromkeys([*[str(release.version) for release in RELEASES], *cached_versions()])
    return [version for version in versions if version.startswith(prefix)]


def codes_and_operators(prefix: str, **_: object) -> Iterable[str]:
    """Diagnostic codes and operators that begin with these characters."""
    return [*listed_codes(prefix), *operator_names(prefix)]


def listed_codes(prefix: str, **_: object) -> Iterable[str]:
    """Diagnostic codes that begin with the last word of a list with commas, behind the words before it."""
    from opwright.plugins.code_pages import code_names

    before, comma, word = prefix.rpartition(",")
    return [f"{before}{comma}{code}" for code in code_names() if code.startswith(word)]


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


#: What completes an argument, by command and name; an argument of any command has no command.
_COMPLETERS: Final = {
    ("explain", "names"): codes_and_operators,
    ("releases", "releases"): release_names,
    ("diff", "old"): release_names,
    ("diff", "new"): release_names,
    ("", "torch"): release_names,
    ("", "release"): release_names,
    ("check", "select"): listed_codes,
    ("check", "extend_select"): listed_codes,
    ("check", "ignore"): listed_codes,
}
