"""Generate autograd's C++ files; takes the arguments of PyTorch's `tools/autograd/gen_autograd.py`.

It writes the same bytes. Two flags offer what that program offers only as function arguments: a selection of operators,
and a build without autograd."""

from __future__ import annotations

import argparse

from opwright.cli.arguments import (
    Parser,
    add_drop_in_arguments,
    program_as_named,
    selection,
    spellings,
    templates_as_named,
)
from opwright.cli.runs import drop_in_run_of, run_unless_current, write_all
from opwright.cli.streams import leave
from opwright.emit.registry import build_folders, program_families
from opwright.run.incremental_generation import IncrementalGeneration
from opwright.torchgen.programs import add_path_arguments

# Modules that do the work are imported only if there is work.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Final

    from opwright.incremental.identity import RunIdentity
    from opwright.release.inputs import Inputs
    from opwright.run.request import Request
    from opwright.source.diagnostic import Diagnostics


_PROGRAM: Final = "gen_autograd"


def _folders(arguments: argparse.Namespace) -> dict[str, str]:
    """Every output folder of the program's families is the one that is named."""
    return dict.fromkeys(build_folders("", program_families(_PROGRAM)), arguments.out)


def _parser() -> Parser:
    parser = Parser("python -m opwright.torchgen.gen_autograd", __doc__, last_wins=True)
    add_path_arguments(parser)
    add_drop_in_arguments(parser)
    add = parser.add_argument
    add(
        *spellings("operators-yaml-path"),
        dest="op_selection_yaml_path",
        metavar="FILE",
        help="a YAML file that selects operators, and which of them are for training",
    )
    add(
        *spellings("disable-autograd"),
        action="store_true",
        help="omit the kernels of autograd, of views and of tracing",
    )
    return parser


def _run(arguments: argparse.Namespace, run: RunIdentity, sink: Diagnostics) -> int:
    from opwright.cli import console
    from opwright.cli.input_arguments import completed_inputs
    from opwright.release.inputs import from_files

    arguments.op_registration_whitelist = None
    inputs = from_files(arguments.native_functions, arguments.tags, arguments.autograd)
    inputs = completed_inputs(arguments, inputs, sink, autograd=False, shims=False)
    chosen: str | None = arguments.op_selection_yaml_path
    incremental = IncrementalGeneration(run)
    more_files = () if chosen is None else (chosen,)
    write_all(incremental, inputs, lambda sink: _request(arguments, inputs, run, sink), sink, more_files)
    return console.SUCCESS


def _request(arguments: argparse.Namespace, inputs: Inputs, run: RunIdentity, sink: Diagnostics) -> Request:
    from opwright.emit.emitter import Options
    from opwright.run.request import Request

    return Request(
        inputs=inputs,
        release=arguments.release,
        folders=_folders(arguments),
        families=run.families,
        options=Options(
            autograd_templates=templates_as_named(arguments.autograd, apart=arguments.inputs_only),
            autograd_program=program_as_named(arguments.autograd, "gen_autograd.py"),
            disable_autograd=arguments.disable_autograd,
        ),
        selection=selection(arguments, sink),
        tolerant=True,
        strict=arguments.strict,
        refuses_edits=not arguments.tolerate_generator_edits,
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Run the program and return its exit status."""
    arguments = _parser().parse(argv)
    families = tuple(program_families(_PROGRAM))
    run = drop_in_run_of(_PROGRAM, arguments, arguments.out, _folders(arguments), families)
    return run_unless_current(run, lambda sink: _run(arguments, run, sink), arguments)


if __name__ == "__main__":
    leave(main)
