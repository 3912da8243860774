"""Serve editors: diagnostics, hover, completion, navigation, renaming and fixes for operator files.

  opwright lsp                    an editor starts this and talks to it on standard input and output
  opwright lsp --torch 2.13.0     the PyTorch that files outside of PyTorch's tree belong to

The server speaks the Language Server Protocol. It needs the package pygls: pip install pygls."""

from __future__ import annotations

import argparse
import os
import sys
from importlib.util import find_spec
from typing import Final

from opwright import __version__
from opwright.cli import console
from opwright.cli.arguments import add_plugin_argument, not_empty
from opwright.cli.input_arguments import add_allow_path_argument
from opwright.source.diagnostic import Diagnostics

#: The faults of plug-ins are diagnostics in the editor.
LOADS_PLUGINS: Final = True


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    where = parser.add_mutually_exclusive_group()
    help = "the PyTorch of files outside of PyTorch's tree: `auto` for the installed one (the default), the path of a "
    where.add_argument("--torch", metavar="SPEC", type=not_empty, help=help + "wheel, or a version")
    help = "a folder `aten/src/ATen` instead"
    where.add_argument("--source-path", metavar="DIR", type=not_empty, help=help)
    add_plugin_argument(parser)
    add_allow_path_argument(parser)
    parser.add_argument("--stdio", action="store_true", help="talk on standard input and output, as it always does")
    parser.add_argument("--check", action="store_true", help=argparse.SUPPRESS)


def run(arguments: argparse.Namespace, sink: Diagnostics) -> int:
    """Serve until the editor ends the session; with --check, check the files of one request."""
    del sink
    if arguments.check:
        from opwright.tools.lsp.worker import check_texts

        with os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8") as report:
            # What plug-ins print is no part of the report.
            os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
            check_texts(sys.stdin, report, arguments.torch, arguments.source_path, tuple(arguments.allow_path))
        return console.SUCCESS
    if find_spec("pygls") is None:
        return console.report_missing("pygls", "lsp", "pygls")
    from opwright.tools.lsp.checker import Checker, InputOptions

    options = InputOptions(arguments.torch, arguments.source_path, tuple(arguments.allow_path))
    # The first check begins while this process imports what speaks the protocol.
    checker = Checker(options)
    checker.prepare()
    from opwright.tools.lsp.features import serve

    serve(__version__, options, tuple(arguments.plugin), checker)
    return console.SUCCESS
