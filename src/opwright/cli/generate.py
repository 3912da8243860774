"""Write the files that PyTorch's build generates from its operators.

  opwright generate --torch 2.13.0 --out build/pytorch      no PyTorch needed; inputs come from the package index
  opwright generate --out build/pytorch --only headers      the installed PyTorch's headers
  opwright generate --source-path aten/src/ATen --out build a source tree

Files are laid out below --out as PyTorch's own build lays them out. A file whose bytes do not change is left alone."""

from __future__ import annotations

import argparse
import sys
import time

from opwright.cli import console
from opwright.cli.arguments import (
    add_backend_arguments,
    add_input_arguments,
    add_selection_arguments,
    ask_whole_download,
    options,
    selection,
)
from opwright.cli.progress import progress
from opwright.emit.registry import DEFAULT_FAMILIES, FAMILIES
from opwright.generation import Generation, Request, build_folders, open_inputs
from opwright.source.diagnostic import Diagnostics


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    add_input_arguments(parser)
    output = parser.add_argument_group("outputs")
    output.add_argument("--out", metavar="DIR", required=True, help="the folder to write below")
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


def run(arguments: argparse.Namespace, sink: Diagnostics) -> int:
    """Generate, and print a summary."""
    started = time.perf_counter()
    inputs = open_inputs(arguments.torch, arguments.source_path, ask_whole=ask_whole_download(arguments), sink=sink)
    request = Request(
        inputs=inputs,
        folders=build_folders(arguments.out),
        families=tuple(arguments.only or DEFAULT_FAMILIES),
        options=options(arguments, sink),
        selection=selection(arguments, sink),
        mps=arguments.mps,
        xpu=arguments.xpu,
        mtia=arguments.mtia,
        release=arguments.release,
    )
    generation = Generation(request, sink)
    generation.check_shims()
    if arguments.dry_run:
        sys.stdout.writelines(f"{planned.target}\n" for planned in generation.plan().outputs)
        return console.SUCCESS
    with progress() as report:
        summary = generation.write(report)
    print(f"PyTorch {generation.version} from {inputs.origin}")
    print(
        f"{len(generation.job.catalog):,} operators, {summary.files:,} files below {arguments.out}: "
        f"{summary.written:,} written, {summary.unchanged:,} unchanged, {time.perf_counter() - started:.2f} s"
    )
    return console.SUCCESS
