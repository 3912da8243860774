"""Generate ATen's files; takes the flags of `python -m torchgen.gen` and writes the same bytes."""

from __future__ import annotations

import argparse
import os
from functools import partial

from opwright.cli.arguments import (
    Parser,
    add_backend_arguments,
    add_drop_in_arguments,
    add_lean_argument,
    add_native_aot_argument,
    add_selection_arguments,
    chosen_devices,
    options,
    selection,
    spellings,
)
from opwright.cli.runs import further_files, run_unless_current, write_edit
from opwright.cli.streams import leave
from opwright.emit.registry import program_families
from opwright.model.dispatch_key import devices
from opwright.run.incremental_generation import IncrementalGeneration
from opwright.torchgen.lazy_attributes import lazy_attributes
from opwright.torchgen.programs import request_of, run_with_lists, write_with_lists, writes_nothing

# Modules that do the work are imported only if there is work.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Final

    from opwright.files.plain_files import Status
    from opwright.files.staging import Journal
    from opwright.incremental.identity import RunIdentity
    from opwright.release.inputs import Inputs
    from opwright.run.generation import Generation
    from opwright.run.request import Request
    from opwright.source.diagnostic import Diagnostics

#: Family -> its name for `--generate`.
_FAMILIES: Final = program_families("gen")


# Type checkers take a module that has this function for one that has every attribute.
if not TYPE_CHECKING:
    __getattr__ = lazy_attributes("generator")


def _parser() -> Parser:
    parser = Parser("python -m opwright.torchgen.gen", __doc__, last_wins=True)
    add = parser.add_argument
    add("-s", "--source-path", default="aten/src/ATen", metavar="DIR", help="the folder of ATen's inputs")
    add("-o", "--output-dependencies", metavar="FILE", help="write lists of the output files, for CMake")
    add("--dry-run", action="store_true", help="write nothing but the lists")
    add(
        "--per-operator-headers",
        action="store_true",
        help="write headers per operator, in `ops` below the install folder",
    )
    add("-d", *spellings("install-dir"), default="build/aten/src/ATen", metavar="DIR", help="output folder")
    add(
        *spellings("aoti-install-dir"),
        default="torch/csrc/inductor/aoti_torch/generated",
        metavar="DIR",
        help="output folder for AOTInductor's C shims",
    )
    add(*spellings("headeronly-install-dir"), metavar="DIR", help="output folder of enum_tag.h")
    kinds = list(_FAMILIES.values())
    add("--generate", nargs="*", choices=kinds, default=kinds, help="the kinds of files to generate")
    add_drop_in_arguments(parser)
    add_lean_argument(parser)
    add_native_aot_argument(parser)
    add_backend_arguments(parser)
    add_selection_arguments(parser)
    return parser


def _folders(arguments: argparse.Namespace) -> dict[str, str]:
    install: str = arguments.install_dir
    header_only: str | None = arguments.headeronly_install_dir
    if header_only is None:
        header_only = os.path.join(install, "core") if install else "build/torch/headeronly/core"
    return {
        "aten": install,
        "ops": f"{install}/ops",
        "core": f"{install}/core",
        "headeronly": header_only,
        "aoti": arguments.aoti_install_dir,
    }


def _families(arguments: argparse.Namespace) -> tuple[str, ...]:
    return tuple(family for family, name in _FAMILIES.items() if name in arguments.generate)


def _request(arguments: argparse.Namespace, inputs: Inputs, sink: Diagnostics) -> Request:
    return request_of(arguments, inputs, _folders(arguments), _families(arguments))._replace(
        options=options(arguments, sink, tolerant=True),
        selection=selection(arguments, sink),
        tolerant=True,
        devices=chosen_devices(arguments),
    )


def _run(arguments: argparse.Namespace, run: RunIdentity, sink: Diagnostics) -> int:
    from opwright.cli import console
    from opwright.cli.input_arguments import completed_inputs
    from opwright.release.inputs import from_source_path

    inputs = completed_inputs(arguments, from_source_path(arguments.source_path), sink, autograd=False)
    inputs = inputs.with_native_aot(arguments.native_aot_ops_dir, sink)
    incremental = IncrementalGeneration(run)
    more_files = further_files(arguments, _folders(arguments))
    make_request = partial(_request, arguments, inputs)
    # After an edit in place the lists of outputs are as they were.
    if (
        not arguments.dry_run
        and _has_folders(arguments)
        and write_edit(incremental, inputs, make_request, more_files) is not None
    ):
        return console.SUCCESS
    generation = incremental.load(inputs, make_request, sink, more_files)
    generation.check_shims(note_missing=True)
    lists: Sequence[str] = ()
    if arguments.output_dependencies:
        from opwright.cli.depfile import list_paths

        lists = list_paths(arguments.output_dependencies, _devices(arguments))
    write_with_lists(arguments, incremental, generation, lists, partial(_write_lists, arguments, generation))
    return console.SUCCESS


def _has_folders(arguments: argparse.Namespace) -> bool:
    """Whether all output folders are there, which every run of PyTorch's generator makes."""
    return all(map(os.path.isdir, _folders(arguments).values()))


def _write_lists(arguments: argparse.Namespace, generation: Generation, journal: Journal | None) -> dict[str, Status]:
    from opwright.cli.depfile import write_dependency_lists

    path, plan = arguments.output_dependencies, generation.plan()
    return write_dependency_lists(path, plan, _devices(arguments), journal) if path else {}


def _devices(arguments: argparse.Namespace) -> tuple[str, ...]:
    """Devices with a library of their own, whose files have a list of their own."""
    chosen = chosen_devices(arguments)
    listed = [device for device in devices() if not device.flag or device.flag in chosen]
    return tuple([device.name for device in listed if device.export_macro])


def main(argv: Sequence[str] | None = None) -> int:
    """Run the program and return its exit status."""
    arguments = _parser().parse(argv)
    run = run_with_lists("gen", arguments, _folders(arguments), _families(arguments))
    is_current = False if writes_nothing(arguments) or not _has_folders(arguments) else None
    return run_unless_current(run, lambda sink: _run(arguments, run, sink), arguments, is_current=is_current)


if __name__ == "__main__":
    leave(main)
