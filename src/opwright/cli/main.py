"""Program `opwright`."""

from __future__ import annotations

import os
import sys
from importlib import import_module

import opwright
from opwright import __version__
from opwright.cli.arguments import Parser
from opwright.cli.streams import add_color_argument, leave, settle_streams
from opwright.source.terminal import slow

# Imports are most of the time of a run with nothing to do, so this module imports nothing for types alone.
TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence
    from types import ModuleType
    from typing import Final, NoReturn

    from opwright.source.diagnostic import Diagnostics

#: What the help shows under each heading, for its readers: command -> what it does.
_GROUPS: Final = {
    "Commands that most begin with": {
        "new": "write a project to start from: an operator library, a backend, or kernels for the Hub",
        "import": "write a library file from the registrations that a library has",
        "check": "check operator files of all kinds, and fix them",
        "generate": "write the code around operators: those of a library, of a backend, or of PyTorch itself",
        "explain": "explain an operator (kernels, signatures, gradients, generated code), or a diagnostic code",
    },
    "For libraries and backends": {
        "format": "write library, backend and derivative files in one canonical layout",
        "accept": "judge a kernel: accept or refuse it by what an entry says",
        "port": "move the C++ kernels of a library to PyTorch's stable headers",
        "stubs": "write stubs, so that type checkers and editors know the operators of torch.ops",
        "coverage": "report which operators a backend implements, and what breaks",
        "diff": "compare the operators of two releases, and say whom each change breaks",
    },
    "For work on PyTorch itself": {
        "where": "show the entry that a generated line comes from",
        "conformance": "compare the files of PyTorch's generator in a tree with Opwright's",
        "select": "merge selections of operators, and tell why operators are kept",
        "upgraders": "write the upgraders of old mobile models from their bytecode",
    },
    "For editors, shells and other programs": {
        "lsp": "serve editors: diagnostics, hover, completion, navigation, renaming, fixes",
        "dump": "write a catalog as JSON, for other programs",
        "schema": "print the JSON Schema of a kind of input file, or of a document",
        "plugins": "list the installed plug-ins, and what each adds",
        "releases": "list PyTorch releases, which of them are cached, and the rules of each",
        "completion": "print what a shell needs to complete commands, options and operators",
    },
}
#: Command -> what it does, in the order of the help text. Each is a module of this package with `add_arguments(parser)`
#: and `run(arguments, sink)`, imported only when it runs. If it has `is_up_to_date(arguments)`, the program calls that
#: first, to find out whether there is nothing to do. The help of one that `LISTS_PLUGINS` shows what plug-ins add, and
#: one that `LOADS_PLUGINS` loads those of `--plugin` itself.
COMMANDS: Final = {name: text for group in _GROUPS.values() for name, text in group.items()}

_DESCRIPTION: Final = """\
Compiles operator schemas into the C++ and Python glue that PyTorch needs around each operator.

{commands}

`opwright COMMAND --help` describes a command. Exit status: 0 success, 1 errors in the input, 2 wrong usage,
70 a bug in Opwright."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the program with the given arguments (by default the process's) and return its exit status."""
    if "_ARGCOMPLETE" in os.environ:
        from opwright.cli.completion import complete

        complete(_parser_of_commands(), COMMANDS, _load)
    words = list(sys.argv[1:] if argv is None else argv)
    command = words[0] if words and words[0] in COMMANDS else None
    if command is None:
        parser = _parser_of_commands()
        parser.add_argument("command", choices=tuple(COMMANDS), metavar="COMMAND", help="one of the commands above")
        if not words:
            parser.print_help(sys.stderr)
            raise SystemExit(2)
        parser.parse(words)
        raise AssertionError("the parser accepts no command that is not in the table")
    module = _load(command)
    if getattr(module, "LISTS_PLUGINS", False) and not {"-h", "--help", "--help-all"}.isdisjoint(words):
        from opwright.cli.plugin_use import activate_for_help

        activate_for_help(words)
    command_parser = Parser(f"opwright {command}", module.__doc__)
    module.add_arguments(command_parser)
    add_color_argument(command_parser)
    arguments = command_parser.parse(words[1:])
    settle_streams()
    if _is_up_to_date(module, arguments):
        return 0
    from opwright.cli import console

    def run(sink: Diagnostics) -> int:
        if "plugin" in arguments and not getattr(module, "LOADS_PLUGINS", False):
            from opwright.cli.plugin_use import use_plugins

            use_plugins(arguments, command_parser)
        return int(module.run(arguments, sink))

    with slow(f"opwright {command} is at work"):
        return console.run(run, arguments.color)


def _load(command: str) -> ModuleType:
    return import_module(f"opwright.cli.{command if command != 'import' else 'import_library'}")


def _parser_of_commands() -> Parser:
    """Parser of a command line without a command."""
    groups = [(title, [f"  {name:<11} {text}" for name, text in group.items()]) for title, group in _GROUPS.items()]
    commands = "\n\n".join(["\n".join([f"{title}:", *lines]) for title, lines in groups])
    parser = Parser("opwright", _DESCRIPTION.format(commands=commands))
    parser.add_argument("--version", action="version", version=f"opwright {__version__}")
    folders = {
        "builds/cmake": "print the folder of the CMake package and exit",
        "builds/bazel": "print the folder of the rules for Bazel and exit",
        "libraries/include": "print the folder of the headers that generated code of libraries includes, and exit",
    }
    package = os.path.dirname(opwright.__file__)
    for folder, text in folders.items():
        path = os.path.join(package, *folder.split("/"))
        parser.add_argument(f"--{os.path.basename(path)}-dir", action="version", version=path, help=text)
    return parser


def program() -> NoReturn:
    """Run the program, and end the process with its exit status."""
    leave(main)


def _is_up_to_date(module: ModuleType, arguments: argparse.Namespace) -> bool:
    """Whether a command has nothing to do. Errors here are ignored, because the run meets and reports them again."""
    ask = getattr(module, "is_up_to_date", None)
    try:
        return ask is not None and bool(ask(arguments))
    except Exception:
        return False


if __name__ == "__main__":
    program()
