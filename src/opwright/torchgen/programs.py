"""What the drop-in programs share: requests, lists of outputs, and runs that write families or one backend."""

from __future__ import annotations

import argparse
import os
from functools import partial

from opwright.cli.arguments import Parser, add_drop_in_arguments, not_empty, spellings
from opwright.cli.runs import drop_in_run_of, run_unless_current, write_all
from opwright.emit.registry import build_folders, program_families
from opwright.files.plain_files import real_path
from opwright.run.incremental_generation import IncrementalGeneration

# Modules that do the work are imported only if there is work.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from opwright.dialects.native_functions.scope import LoadScope
    from opwright.emit.emitter import Options
    from opwright.files.plain_files import Status
    from opwright.files.staging import Journal
    from opwright.incremental.identity import RunIdentity
    from opwright.release.inputs import Inputs
    from opwright.run.generation import Generation
    from opwright.run.request import Request
    from opwright.source.diagnostic import Diagnostics


def folders_in_one(program: str, folder: str) -> dict[str, str]:
    """Output folders of a program's families, each of which is the same one."""
    return dict.fromkeys(build_folders("", program_families(program)), folder)


def request_of(
    arguments: argparse.Namespace, inputs: Inputs, folders: Mapping[str, str], families: Iterable[str]
) -> Request:
    """Request of a program, as far as the arguments say that all programs have."""
    from opwright.run.request import Request

    return Request(
        inputs,
        folders,
        tuple(families),
        strict=arguments.strict,
        refuses_edits=not arguments.tolerate_generator_edits,
        release=arguments.release,
    )


def run_with_lists(
    program: str, arguments: argparse.Namespace, folders: Mapping[str, str], families: Iterable[str]
) -> RunIdentity:
    """Identity of a run with lists of outputs. Its state belongs to the install folder, or to that of lists alone."""
    lists = arguments.output_dependencies and os.path.realpath(arguments.output_dependencies)
    home = os.path.dirname(lists) if arguments.dry_run and lists else arguments.install_dir
    kind = {"lists": lists or None, "dry run": arguments.dry_run}
    return drop_in_run_of(program, arguments, home, folders, families, **kind)


def writes_nothing(arguments: argparse.Namespace) -> bool:
    """Whether a program is asked for neither files nor lists of them."""
    return bool(arguments.dry_run and not arguments.output_dependencies)


def write_with_lists(
    arguments: argparse.Namespace,
    incremental: IncrementalGeneration,
    generation: Generation,
    paths: Sequence[str],
    write_lists: Callable[[Journal | None], dict[str, Status]],
) -> None:
    """Write outputs and the lists at some paths; the lists alone with `--dry-run`.

    Raises Fault for a list in the place of another file that the run reads or writes (E0613).
    """
    from opwright.files.writer import make_folder

    if paths:
        from opwright.cli.extra_files import check_overwrites

        named = [("--output-dependencies", path) for path in paths]
        check_overwrites(named, generation, None, incremental.stamps.files if incremental.stamps is not None else ())
    # PyTorch's generator makes its folders in every run, even those that stay empty.
    for folder in generation.request.folders.values():
        make_folder(folder)
    if not arguments.dry_run:
        incremental.write(generation, write_extras=lambda _, journal: write_lists(journal))
    elif paths:
        with incremental.turn() as journal:
            outputs = generation.source_outputs()
            incremental.remember(generation.sink, write_lists(journal), {}, outputs)


def write_list(path: str, outputs: Iterable[str], journal: Journal | None) -> dict[str, Status]:
    """Write the one list of a program's outputs, for CMake, and give its status."""
    from pathlib import PurePath

    from opwright.cli.depfile import cmake_list
    from opwright.files.writer import Writer

    with Writer(journal) as writer:
        writer.write(real_path(path), os.fsencode(cmake_list(PurePath(path).stem, outputs)))
    return writer.statuses


def autograd_parser(program: str, description: str | None) -> Parser:
    """Parser of a program that takes NATIVE, TAGS, OUT and AUTOGRAD."""
    parser = Parser(f"python -m opwright.torchgen.{program}", description, last_wins=True)
    add = parser.add_argument
    add("native_functions", metavar="NATIVE", help="the path of native_functions.yaml")
    add("tags", metavar="TAGS", help="the path of tags.yaml")
    add("out", metavar="OUT", help="output folder")
    add("autograd", metavar="AUTOGRAD", help="the folder with derivatives.yaml, deprecated.yaml and their templates")
    add_drop_in_arguments(parser)
    return parser


def _autograd_inputs(arguments: argparse.Namespace) -> Inputs:
    from opwright.release.inputs import from_files

    return from_files(arguments.native_functions, arguments.tags, arguments.autograd)


def run_families(
    program: str,
    arguments: argparse.Namespace,
    complete: Callable[[argparse.Namespace, Request, Diagnostics], Request] = lambda _, request, __: request,
    *,
    folders: Mapping[str, str] | None = None,
    open_inputs: Callable[[argparse.Namespace], Inputs] = _autograd_inputs,
    more_files: Sequence[str] = (),
) -> int:
    """Run a program that writes its families below the folder OUT, and give its exit status.

    `complete` adds to the request what the arguments of this program say. The inputs are those of `autograd_parser`,
    and all output folders are OUT, unless the program says otherwise.
    """
    families = program_families(program)
    run_folders = folders_in_one(program, arguments.out) if folders is None else folders
    run = drop_in_run_of(program, arguments, arguments.out, run_folders, families)

    def work(sink: Diagnostics) -> int:
        from opwright.cli import console
        from opwright.cli.input_arguments import completed_inputs

        inputs = completed_inputs(arguments, open_inputs(arguments), sink, autograd=False, shims=False)
        request = request_of(arguments, inputs, run_folders, families)
        write_all(IncrementalGeneration(run), inputs, partial(complete, arguments, request), sink, more_files)
        return console.SUCCESS

    return run_unless_current(run, work, arguments)


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
    families, folders = program_families(program), folders_in_one(program, arguments.output_dir)
    run = drop_in_run_of(program, arguments, arguments.output_dir, folders, families)

    def scope() -> LoadScope:
        from opwright.dialects.native_functions.scope import LoadScope
        from opwright.source.text import SourceFile

        return LoadScope([SourceFile.read(arguments.source_yaml).text])

    def work(sink: Diagnostics) -> int:
        from opwright.cli import console
        from opwright.cli.input_arguments import completed_inputs
        from opwright.release.inputs import open_inputs
        from opwright.source.text import SourceFile

        inputs = open_inputs(arguments.torch, arguments.source_path, sink=sink)
        if arguments.source_path is not None:
            inputs = completed_inputs(arguments, inputs, sink, autograd=False, shims=False)

        def request(_: Diagnostics) -> Request:
            return request_of(arguments, inputs, folders, families)._replace(
                options=options(arguments), tolerant=True, backends=(SourceFile.read(arguments.source_yaml),)
            )

        incremental = IncrementalGeneration(run)
        more_files = [path for path in (arguments.source_yaml, arguments.impl_path) if path is not None]
        generation = incremental.load(inputs, request, sink, more_files, scope)
        if arguments.impl_path is not None:
            check_kernel_file(arguments.impl_path, generation, sink)
        if not arguments.dry_run:
            incremental.write(generation)
        return console.SUCCESS

    return run_unless_current(run, work, arguments)
