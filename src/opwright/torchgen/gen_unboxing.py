"""Generate boxed functions; takes the flags of PyTorch's `tools/jit/gen_unboxing.py` and writes the same bytes."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from opwright.cli import console
from opwright.cli.arguments import Parser, add_rules_arguments, selection, spellings
from opwright.cli.depfile import dependency_lists
from opwright.cli.extra_files import check_overwrites
from opwright.cli.input_arguments import completed_inputs
from opwright.cli.streams import leave
from opwright.dialects.selection import load_operator_names
from opwright.emit.registry import program_families
from opwright.incremental.identity import RunIdentity
from opwright.release.inputs import from_source_path
from opwright.run.generation import Generation
from opwright.run.incremental_generation import IncrementalGeneration
from opwright.source.diagnostic import Diagnostics
from opwright.source.text import SourceFile
from opwright.torchgen.programs import folders_in_one, request_of, write_list


def _parser() -> Parser:
    parser = Parser("python -m opwright.torchgen.gen_unboxing", __doc__, last_wins=True)
    add = parser.add_argument
    add("-s", "--source-path", default="aten/src/ATen", metavar="DIR", help="the folder of ATen's inputs")
    add("-d", *spellings("install-dir"), default="build/aten/src/ATen", metavar="DIR", help="output folder")
    add("-o", "--output-dependencies", metavar="FILE", help="write a list of the output files, for CMake")
    add("--dry-run", action="store_true", help="write nothing but the list")
    add(
        *spellings("op-selection-yaml-path"),
        metavar="FILE",
        help="a YAML file that selects operators, and what to generate for each",
    )
    add(
        *spellings("op-registration-allowlist"),
        dest="op_registration_whitelist",
        nargs="*",
        metavar="NAME",
        help="only these operators; each is `namespace::name` without overload",
    )
    add(
        *spellings("TEST-ONLY-op-registration-allowlist-yaml-path"),
        dest="names_path",
        metavar="FILE",
        help="the same, from a file with a list of names; for tests",
    )
    add_rules_arguments(parser)
    return parser


def _run(arguments: argparse.Namespace, sink: Diagnostics) -> int:
    names = arguments.op_registration_whitelist or None
    if names is None and arguments.names_path:
        names = load_operator_names(SourceFile.read(arguments.names_path), sink)
    arguments.op_registration_whitelist = names
    inputs = completed_inputs(arguments, from_source_path(arguments.source_path), sink, autograd=False, shims=False)
    folders = folders_in_one("gen_unboxing", arguments.install_dir)
    request = request_of(arguments, inputs, folders, program_families("gen_unboxing"))
    request = request._replace(selection=selection(arguments, sink), tolerant=True)
    generation = Generation(request, sink)
    run = RunIdentity(arguments.install_dir, request.folders, request.families, {}, {}, apart=True)
    with IncrementalGeneration(run).turn() as journal:
        if arguments.output_dependencies:
            path, paths = arguments.output_dependencies, inputs.paths()
            named = [("--output-dependencies", path)]
            check_overwrites(named, generation, None, paths.files if paths is not None else ())
            # No output is of a group that has a list of its own.
            write_list(path, dependency_lists(generation.plan())[""], journal)
        if not arguments.dry_run:
            generation.write_after(None, journal=journal)
    return console.SUCCESS


def main(argv: Sequence[str] | None = None) -> int:
    """Run the program and return its exit status."""
    arguments = _parser().parse(argv)
    return console.run(lambda sink: _run(arguments, sink))


if __name__ == "__main__":
    leave(main)
