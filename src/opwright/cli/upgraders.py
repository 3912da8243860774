"""Write the upgraders with which old mobile models run on the operators of today, from their bytecode.

opwright upgraders --bytecode upgraders.json --out torch/csrc/jit/mobile     from a file; needs no PyTorch
opwright upgraders --dump-bytecode upgraders.json --out build                from the installed PyTorch, and keep it"""

from __future__ import annotations

import argparse
import os
import sys

from opwright.cli.arguments import not_empty
from opwright.cli.runs import current_manifest, run_of
from opwright.run.session import Session

# Modules that do the work are imported only if there is work.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from opwright.incremental.identity import Run
    from opwright.source.diagnostic import Diagnostics
    from opwright.source.text import SourceFile

__all__ = ["add_arguments", "add_bytecode_arguments", "is_up_to_date", "output_folders", "run", "write_upgraders"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("--out", metavar="DIR", type=not_empty, required=True, help="output folder")
    add_bytecode_arguments(parser)


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
    """The output folder by name."""
    return {"upgraders": arguments.out}


def _run(arguments: argparse.Namespace) -> Run:
    return run_of("upgraders", arguments, arguments.out, output_folders(arguments), ())


def is_up_to_date(arguments: argparse.Namespace) -> bool:
    """Whether an earlier run did all that this one would do."""
    return current_manifest(_run(arguments), arguments.color) is not None


def run(arguments: argparse.Namespace, sink: Diagnostics) -> int:
    """Write the file."""
    return write_upgraders(arguments, _run(arguments), sink)


def write_upgraders(arguments: argparse.Namespace, run: Run, sink: Diagnostics) -> int:
    """Write the file for a run, and the bytecode file if it is asked for. Gives the exit status."""
    from opwright.cli import console
    from opwright.dialects.upgraders.loader import load_upgraders
    from opwright.emit.mobile_upgraders.source import FILE_NAME, upgrader_source
    from opwright.source.text import SourceFile

    session = Session(run)
    if arguments.bytecode is None:
        file = _installed_bytecode(session)
    else:
        session.take_file_stamps([arguments.bytecode])
        file = SourceFile.read(arguments.bytecode)
    tables = load_upgraders(file, sink)
    sink.raise_if_errors()
    texts = {os.path.join(arguments.out, FILE_NAME): upgrader_source(tables)}
    if arguments.dump_bytecode is not None:
        texts[arguments.dump_bytecode] = file.text
    session.write_texts(texts, sink)
    return console.SUCCESS


def _installed_bytecode(session: Session) -> SourceFile:
    """The bytecode file of the installed PyTorch, whose files identify it."""
    from opwright.run.torch_bytecode import bytecode_of_torch, torch_files

    session.take_file_stamps(torch_files())
    return bytecode_of_torch(sys.executable)
