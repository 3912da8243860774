"""Write a catalog as JSON: the operators of a release, of operator libraries, or of a backend.

  opwright dump --torch 2.13.0 --out operators.json       the operators of a release
  opwright dump --library acme.yaml                       those of an operator library
  opwright dump --backend acme.yaml                       the kernels of a backend
  opwright dump --from operators.json --out yaml          back to YAML, in this folder
  opwright dump --for bindings --out bindings.json        what bindings to other languages are generated from

`opwright schema dump` prints the JSON Schema of the document. It holds the input files too, as data, so that the way
back loses nothing but comments and layout. With `--for bindings`, the document has C++ and Python signatures, dispatch,
formulas and docstrings instead of files; `opwright schema bindings` prints its schema."""

from __future__ import annotations

import argparse
import os
import sys

from opwright.cli import console
from opwright.cli.arguments import add_input_arguments, not_empty, repeated
from opwright.cli.input_arguments import add_allow_path_argument, open_named_inputs
from opwright.cli.streams import is_stream, print_or_write
from opwright.source.diagnostic import Diagnostics
from opwright.source.terminal import print_document
from opwright.source.text import SourceFile
from opwright.tools.dump.data import JsonValue
from opwright.tools.dump.document import DUMP_BYTES, dumped_files, parse_dump, render_dump
from opwright.workspace.user_files import finish_killed_runs
from opwright.workspace.user_outputs import write_user_files


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    source = parser.add_mutually_exclusive_group()
    repeated(source)(
        "--library", metavar="FILE", help="dump the operators of a library file (may be repeated)", type=not_empty
    )
    repeated(source)(
        "--backend", metavar="FILE", help="dump the kernels of a backend file (may be repeated)", type=not_empty
    )
    source.add_argument(
        "--from",
        dest="dump",
        metavar="DUMP",
        type=not_empty,
        help="write the input files of a dump as YAML instead; `-` reads it from standard input",
    )
    source.add_argument(
        "--for",
        dest="purpose",
        choices=("bindings",),
        help="dump PyTorch's operators for generators of bindings to other languages",
    )
    add_input_arguments(parser)
    add_allow_path_argument(parser)
    output = parser.add_argument_group("output")
    output.add_argument(
        "--file", metavar="NAME", type=not_empty, help="with `--from`: print only this file, such as derivatives.yaml"
    )
    output.add_argument(
        "--out",
        metavar="PATH",
        type=not_empty,
        help="write the document to this file; with `--from`, the folder of the YAML files",
    )
    output.add_argument("--force", action="store_true", help="replace files that exist")


def run(arguments: argparse.Namespace, sink: Diagnostics) -> int:
    """Print the dump, or write it, or write its files."""
    finish_killed_runs()
    if arguments.dump is not None:
        return _write_files(arguments)
    if arguments.file is not None:
        return console.refuse("dump", "`--file` needs `--from`")
    text = render_dump(_document(arguments, sink))
    if arguments.out is None or is_stream(arguments.out):
        print_or_write(text, arguments.out)
    else:
        write_user_files({arguments.out: text.encode()}, force=arguments.force)
    return console.SUCCESS


def _document(arguments: argparse.Namespace, sink: Diagnostics) -> dict[str, JsonValue]:
    inputs = open_named_inputs(arguments, sink)
    from opwright.tools.dump.dumping import dump_backends, dump_libraries, dump_release

    if arguments.library:
        return dump_libraries(arguments.library, inputs, arguments.release, sink, tuple(arguments.allow_path))
    if arguments.purpose is not None:
        # Other dumps need neither emitters nor explanations.
        from opwright.tools.bindings.data import dump_for_bindings

        return dump_for_bindings(inputs, arguments.release, sink)
    if arguments.backend:
        return dump_backends(arguments.backend, inputs, arguments.release, sink, tuple(arguments.allow_path))
    return dump_release(inputs, arguments.release, sink)


def _write_files(arguments: argparse.Namespace) -> int:
    """Print a file of a dump, or write all of them."""
    if arguments.dump == "-":
        file = SourceFile("<standard input>", sys.stdin.read())
    else:
        file = SourceFile.read(arguments.dump, DUMP_BYTES)
    files = dumped_files(parse_dump(file), file)
    by_name = {os.path.basename(dumped.path): dumped for dumped in files}
    if arguments.file is not None:
        files = [by_name[arguments.file]] if arguments.file in by_name else []
    if not files or (len(files) > 1 and arguments.out is None):
        names = ", ".join(by_name)
        return console.refuse("dump", f"choose a file with `--file`, or a folder with `--out`: {names}")
    if arguments.out is None:
        print_document(files[0].yaml)
        return console.SUCCESS
    contents = {os.path.join(arguments.out, os.path.basename(dumped.path)): dumped.yaml.encode() for dumped in files}
    write_user_files(contents, force=arguments.force)
    return console.SUCCESS
