"""Generate the code around an external backend's kernels; takes the flags of `python -m torchgen.gen_backend_stubs`.

It writes the same bytes. The operators are those of the installed PyTorch, unless a flag names another one."""

from __future__ import annotations

import argparse

from opwright.cli.arguments import add_prune_argument, not_empty
from opwright.cli.parser import Parser
from opwright.cli.runs import drop_in_run_of, run_unless_current
from opwright.cli.streams import leave
from opwright.emit.registry import build_folders, program_families
from opwright.run.session import Session

# Modules that do the work are imported only if there is work.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Final

    from opwright.build.runs import Run
    from opwright.release.inputs import Inputs
    from opwright.run.generation import Generation
    from opwright.run.request import Request
    from opwright.source.diagnostic import Diagnostics

_PROGRAM: Final = "gen_backend_stubs"


def _parser() -> Parser:
    parser = Parser("python -m opwright.torchgen.gen_backend_stubs", __doc__)
    add = parser.add_argument
    add("-s", "--source-yaml", "--source_yaml", required=True, metavar="FILE", help="the backend file")
    add("-o", "--output-dir", "--output_dir", required=True, metavar="DIR", help="output folder")
    add("--dry-run", "--dry_run", metavar="TEXT", default="", help="with any text, write nothing")
    add(
        "--impl-path",
        "--impl_path",
        metavar="FILE",
        help="the C++ file with the kernels, to report kernels that it does not define",
    )
    add("--torch", metavar="SPEC", type=not_empty, default="auto", help="another PyTorch than the installed one")
    add("--source-path", metavar="DIR", type=not_empty, help="a folder of PyTorch's inputs instead")
    add_prune_argument(parser)
    return parser


def _folders(arguments: argparse.Namespace) -> dict[str, str]:
    """Every output folder of the program's families is the one that is named."""
    return dict.fromkeys(build_folders("", program_families(_PROGRAM)), arguments.output_dir)


def _run(arguments: argparse.Namespace, run: Run, sink: Diagnostics) -> int:
    from opwright.cli import console
    from opwright.release.inputs import open_inputs

    inputs = open_inputs(arguments.torch, arguments.source_path, sink=sink)
    session = Session(run)
    generation = session.load(inputs, lambda: _request(arguments, inputs, run), sink, _files_besides(arguments))
    if arguments.impl_path is not None and generation.job.backends:
        _check_definitions(arguments.impl_path, generation, sink)
    if not arguments.dry_run:
        session.write(generation)
    return console.SUCCESS


def _check_definitions(path: str, generation: Generation, sink: Diagnostics) -> None:
    """Report kernels that a C++ file does not define. Raises FaultsFound."""
    from opwright.emit.backend.definitions import check_definitions
    from opwright.source.text import SourceFile

    check_definitions(generation.job.backends, SourceFile.read(path), sink)
    sink.raise_if_errors()


def _files_besides(arguments: argparse.Namespace) -> list[str]:
    return [path for path in (arguments.source_yaml, arguments.impl_path) if path is not None]


def _request(arguments: argparse.Namespace, inputs: Inputs, run: Run) -> Request:
    from opwright.emit.emitter import Options
    from opwright.run.request import Request
    from opwright.source.text import SourceFile

    return Request(
        inputs=inputs,
        folders=_folders(arguments),
        families=run.families,
        options=Options(backend_folder=f"{arguments.output_dir}/"),
        tolerant=True,
        backends=(SourceFile.read(arguments.source_yaml),),
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Run the program and return its exit status."""
    arguments = _parser().parse(argv)
    families = tuple(program_families(_PROGRAM))
    run = drop_in_run_of(_PROGRAM, arguments, arguments.output_dir, _folders(arguments), families)
    return run_unless_current(run, lambda sink: _run(arguments, run, sink))


if __name__ == "__main__":
    leave(main)
