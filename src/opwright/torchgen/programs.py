"""What programs share that write one family of files from the four usual paths, such as those of autograd."""

from __future__ import annotations

import argparse

from opwright.cli.arguments import Parser, add_drop_in_arguments, templates_as_named
from opwright.cli.runs import drop_in_run_of, run_unless_current, write_all
from opwright.emit.registry import build_folders, program_families
from opwright.run.incremental_generation import IncrementalGeneration

# Modules that do the work are imported only if there is work.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from opwright.incremental.identity import RunIdentity
    from opwright.release.inputs import Inputs
    from opwright.run.request import Request
    from opwright.source.diagnostic import Diagnostics

__all__ = ["run_family"]


def add_path_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare NATIVE, TAGS, OUT and AUTOGRAD."""
    add = parser.add_argument
    add("native_functions", metavar="NATIVE", help="the path of native_functions.yaml")
    add("tags", metavar="TAGS", help="the path of tags.yaml")
    add("out", metavar="OUT", help="output folder")
    add("autograd", metavar="AUTOGRAD", help="the folder with derivatives.yaml, deprecated.yaml and their templates")


def run_family(program: str, description: str | None, argv: Sequence[str] | None, *, named: bool = False) -> int:
    """Run a program that writes its families to the folder OUT, and give its exit status.

    `named` tells that comments in the outputs name the folder of the templates.
    """
    parser = Parser(f"python -m opwright.torchgen.{program}", description, last_wins=True)
    add_path_arguments(parser)
    add_drop_in_arguments(parser)
    arguments = parser.parse(argv)
    families = tuple(program_families(program))
    folders = dict.fromkeys(build_folders("", families), arguments.out)
    run = drop_in_run_of(program, arguments, arguments.out, folders, families)
    return run_unless_current(run, lambda sink: _write(arguments, run, sink, folders, named), arguments)


def _write(
    arguments: argparse.Namespace, run: RunIdentity, sink: Diagnostics, folders: dict[str, str], named: bool
) -> int:
    from opwright.cli import console
    from opwright.cli.input_arguments import completed_inputs
    from opwright.release.inputs import from_files

    inputs = from_files(arguments.native_functions, arguments.tags, arguments.autograd)
    inputs = completed_inputs(arguments, inputs, sink, autograd=False, shims=False)
    templates = templates_as_named(arguments.autograd, apart=arguments.inputs_only) if named else None
    incremental = IncrementalGeneration(run)
    write_all(incremental, inputs, lambda _: _request(inputs, arguments, run, folders, templates), sink)
    return console.SUCCESS


def _request(
    inputs: Inputs, arguments: argparse.Namespace, run: RunIdentity, folders: dict[str, str], templates: str | None
) -> Request:
    from opwright.emit.emitter import Options
    from opwright.files.template import LAUNCHER
    from opwright.run.request import Request

    # PyTorch has no program that makes the bindings alone, so comments name its main one.
    options = Options() if templates is None else Options(autograd_templates=templates, autograd_program=LAUNCHER)
    return Request(
        inputs=inputs,
        release=arguments.release,
        folders=folders,
        families=run.families,
        options=options,
        strict=arguments.strict,
        refuses_edits=not arguments.tolerate_generator_edits,
    )
