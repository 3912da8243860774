"""Write the files that PyTorch's build generates from its operators.

  opwright generate --torch 2.13.0 --out build/pytorch      no PyTorch needed; inputs come from the package index
  opwright generate --out build/pytorch --only headers      the installed PyTorch's headers
  opwright generate --source-path aten/src/ATen --out build a source tree

Files are laid out below --out as PyTorch's own build lays them out. A file whose bytes do not change is left alone."""

from __future__ import annotations

import argparse
import sys
import time

from opwright.build.folders import build_folders
from opwright.cli import session
from opwright.cli.arguments import (
    add_backend_arguments,
    add_input_arguments,
    add_selection_arguments,
    ask_whole_download,
    not_empty,
    options,
    selection,
)
from opwright.emit.registry import FAMILIES, chosen_families

# What does the work is imported when there is work.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from opwright.build.record import Run
    from opwright.generation import Request
    from opwright.source.diagnostic import Diagnostics


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    add_input_arguments(parser)
    output = parser.add_argument_group("outputs")
    output.add_argument("--out", metavar="DIR", type=not_empty, required=True, help="the folder to write below")
    output.add_argument(
        "--only",
        metavar="FAMILY",
        action="append",
        choices=tuple(FAMILIES),
        help=f"write this family of files only (may be repeated): {', '.join(FAMILIES)}",
    )
    output.add_argument(
        "--no-per-operator-headers",
        dest="per_operator_headers",
        action="store_false",
        help="write few large headers instead of several small ones per operator",
    )
    output.add_argument("--dry-run", action="store_true", help="list the files that would be made; write nothing")
    add_backend_arguments(parser)
    add_selection_arguments(parser)


def _run(arguments: argparse.Namespace) -> Run:
    families = chosen_families(arguments.only)
    return session.run_of("generate", arguments, arguments.out, build_folders(arguments.out), families)


def is_settled(arguments: argparse.Namespace) -> bool:
    """Whether an earlier run did all that this one would do; then it is said so."""
    started = time.perf_counter()
    if arguments.dry_run:
        return False
    record = session.current_record(_run(arguments))
    if record is None:
        return False
    facts = record.facts
    _print_summary(arguments, facts["version"], facts["origin"], facts["operators"], facts["files"], 0, started)
    return True


def _print_summary(
    arguments: argparse.Namespace,
    version: object,
    origin: object,
    operators: str | int,
    files: str | int,
    written: int,
    started: float,
) -> None:
    print(f"PyTorch {version} from {origin}")
    noun = "file" if files == 1 else "files"
    print(
        f"{operators:,} operators, {files:,} {noun} below {arguments.out}: "
        f"{written:,} written, {int(files) - written:,} unchanged, {time.perf_counter() - started:.2f} s"
    )


def _request(arguments: argparse.Namespace, sink: Diagnostics) -> Request:
    from opwright.generation import Request, open_inputs

    inputs = open_inputs(arguments.torch, arguments.source_path, ask_whole=ask_whole_download(arguments), sink=sink)
    inputs = inputs.with_native_aot(arguments.native_aot_ops_dir)
    return Request(
        inputs=inputs,
        folders=build_folders(arguments.out),
        families=chosen_families(arguments.only),
        options=options(arguments, sink),
        selection=selection(arguments, sink),
        mps=arguments.mps,
        xpu=arguments.xpu,
        mtia=arguments.mtia,
        release=arguments.release,
    )


def run(arguments: argparse.Namespace, sink: Diagnostics) -> int:
    """Generate, and print a summary."""
    from opwright.cli import console
    from opwright.cli.progress import progress
    from opwright.generation import Generation

    started = time.perf_counter()
    request = _request(arguments, sink)
    watched = session.watched_inputs(request.inputs, session.read_besides(arguments, request.folders))
    generation = Generation(request, sink)
    generation.check_shims()
    if arguments.dry_run:
        sys.stdout.writelines(f"{planned.target}\n" for planned in generation.plan().outputs)
        return console.SUCCESS
    with progress() as report:
        summary = session.write(generation, _run(arguments), watched, report=report)
    operators = len(generation.job.catalog)
    inputs = request.inputs
    _print_summary(arguments, generation.version, inputs.origin, operators, summary.files, summary.written, started)
    return console.SUCCESS
