"""What programs share that write the upgraders of mobile models: where bytecode comes from, and what is made of it."""

from __future__ import annotations

import argparse
import os
import sys

from opwright.cli.arguments import not_empty
from opwright.incremental.identity import InputStamps
from opwright.run.incremental_generation import IncrementalGeneration

# Modules that do the work are imported only if there is work.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from opwright.incremental.identity import RunIdentity
    from opwright.source.diagnostic import Diagnostics
    from opwright.source.text import SourceFile


def add_bytecode_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare where the bytecode comes from, and where it is kept."""
    parser.add_argument(
        "--bytecode",
        metavar="FILE",
        type=not_empty,
        help="a bytecode file, in JSON or YAML; without it, the installed PyTorch is asked",
    )
    parser.add_argument(
        "--dump-bytecode", metavar="FILE", type=not_empty, help="write the bytecode file of the installed PyTorch too"
    )
    parser.set_defaults(prune=False)


def output_folders(arguments: argparse.Namespace) -> dict[str, str]:
    """Output folder by name."""
    return {"upgraders": arguments.out}


def write_upgraders(arguments: argparse.Namespace, run: RunIdentity, sink: Diagnostics) -> int:
    """Write the file for a run, and the bytecode file if it is asked for. Gives the exit status."""
    from opwright.cli import console
    from opwright.cli.extra_files import write_texts
    from opwright.mobile.upgraders.emitter import FILE_NAME, upgrader_source
    from opwright.mobile.upgraders.loader import load_upgraders
    from opwright.source.text import SourceFile

    incremental = IncrementalGeneration(run)
    if arguments.bytecode is None:
        file = _installed_bytecode(incremental)
    else:
        incremental.stamps = InputStamps.take([os.path.abspath(arguments.bytecode)], [])
        file = SourceFile.read(arguments.bytecode)
    tables = load_upgraders(file, sink)
    sink.raise_if_errors()
    texts = {os.path.join(arguments.out, FILE_NAME): upgrader_source(tables)}
    if arguments.dump_bytecode is not None:
        texts[arguments.dump_bytecode] = file.text
    write_texts(incremental, texts, sink)
    return console.SUCCESS


def _installed_bytecode(incremental: IncrementalGeneration) -> SourceFile:
    """Bytecode file of the installed PyTorch, whose files identify it."""
    from opwright.mobile.upgraders.torch_bytecode import bytecode_of_torch, torch_files

    incremental.stamps = InputStamps.take(map(os.path.abspath, torch_files()), [])
    return bytecode_of_torch(sys.executable)
