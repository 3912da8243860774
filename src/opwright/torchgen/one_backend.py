"""What the programs share that write the code of one external backend."""

from __future__ import annotations

import argparse

from opwright.cli.arguments import Parser, add_drop_in_arguments, not_empty, spellings
from opwright.cli.runs import drop_in_run_of, run_unless_current
from opwright.emit.registry import build_folders, program_families
from opwright.run.incremental_generation import IncrementalGeneration

# Modules that do the work are imported only if there is work.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from opwright.dialects.native_functions.scope import LoadScope
    from opwright.emit.emitter import Options
    from opwright.incremental.identity import RunIdentity
    from opwright.release.inputs import Inputs
    from opwright.run.generation import Generation
    from opwright.run.request import Request
    from opwright.source.diagnostic import Diagnostics

__all__ = ["add_file_arguments", "add_input_arguments", "check_kernel_file", "run_backend"]


def add_file_arguments(parser: Parser, impl_help: str) -> None:
    """Declare the backend file, the output folder, and the C++ file with the kernels, which `impl_help` describes."""
    add = parser.add_argument
    add("-s", *spellings("source-yaml"), required=True, metavar="FILE", help="the backend file")
    add("-o", *spellings("output-dir"), required=True, metavar="DIR", help="output folder")
    add(*spellings("dry-run"), metavar="TEXT", default="", help="with any text, write nothing")
    add(*spellings("impl-path"), metavar="FILE", help=impl_help)


def add_input_arguments(parser: Parser) -> None:
    """Declare where PyTorch's operators come from, and what PyTorch's programs do not have."""
    add = parser.add_argument
    add("--torch", metavar="SPEC", type=not_empty, default="auto", help="another PyTorch than the installed one")
    add("--source-path", metavar="DIR", type=not_empty, help="a folder of PyTorch's inputs instead")
    add_drop_in_arguments(parser)


def check_kernel_file(path: str, generation: Generation, sink: Diagnostics) -> None:
    """Report kernels that a C++ file does not define, and that are not generated either. Raises FaultsFound."""
    from opwright.backends.emit.definitions import check_definitions
    from opwright.backends.external_backend import RunBackends
    from opwright.backends.lazy_backend import RunLazyBackends
    from opwright.source.text import SourceFile

    backends = generation.job.of(RunBackends).backends
    if backends:
        lazy_backends = generation.job.of(RunLazyBackends).lazy_backends
        generated = {entry.function for backend in lazy_backends for entry in backend.generated}
        check_definitions(backends, SourceFile.read(path), sink, generated=generated)
    sink.raise_if_errors()


def run_backend(program: str, arguments: argparse.Namespace, options: Callable[[argparse.Namespace], Options]) -> int:
    """Run a program that writes its families to the output folder, and give its exit status.

    `options` makes the options of the emitters.
    """
    families = tuple(program_families(program))
    # Every output folder of the program's families is the one that is named.
    folders = dict.fromkeys(build_folders("", families), arguments.output_dir)
    run = drop_in_run_of(program, arguments, arguments.output_dir, folders, families)

    def work(sink: Diagnostics) -> int:
        from opwright.cli import console
        from opwright.cli.input_arguments import completed_inputs
        from opwright.release.inputs import open_inputs

        inputs = open_inputs(arguments.torch, arguments.source_path, sink=sink)
        if arguments.source_path is not None:
            inputs = completed_inputs(arguments, inputs, sink, autograd=False, shims=False)
        incremental = IncrementalGeneration(run)
        more_files = [path for path in (arguments.source_yaml, arguments.impl_path) if path is not None]
        generation = incremental.load(
            inputs,
            lambda _: _request(arguments, inputs, run, folders, options(arguments)),
            sink,
            more_files,
            lambda: _scope(arguments),
        )
        if arguments.impl_path is not None:
            check_kernel_file(arguments.impl_path, generation, sink)
        if not arguments.dry_run:
            incremental.write(generation)
        return console.SUCCESS

    return run_unless_current(run, work, arguments)


def _scope(arguments: argparse.Namespace) -> LoadScope:
    """Operators that the backend file names."""
    from opwright.dialects.native_functions.scope import LoadScope
    from opwright.source.text import SourceFile

    return LoadScope([SourceFile.read(arguments.source_yaml).text])


def _request(
    arguments: argparse.Namespace, inputs: Inputs, run: RunIdentity, folders: dict[str, str], options: Options
) -> Request:
    from opwright.run.request import Request
    from opwright.source.text import SourceFile

    return Request(
        inputs=inputs,
        release=arguments.release,
        folders=folders,
        families=run.families,
        options=options,
        tolerant=True,
        strict=arguments.strict,
        refuses_edits=not arguments.tolerate_generator_edits,
        backends=(SourceFile.read(arguments.source_yaml),),
    )
