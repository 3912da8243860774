"""Write stubs, so that type checkers and editors know the operators of `torch.ops`.

  opwright stubs --out stubs                                       every operator of the installed PyTorch
  opwright stubs --out stubs --library my.yaml                     the operators of a library too
  opwright stubs --out stubs --library my.yaml --namespace my      the operators of the library alone

The run writes the package `torch-stubs` below --out. Type checkers find it among installed packages; --project writes
what pip needs to install it."""

from __future__ import annotations

import argparse
import re
import time
from collections.abc import Mapping
from typing import Final

from opwright.cli import console
from opwright.cli.arguments import add_input_arguments, repeated
from opwright.cli.extras import list_or_check, write_outputs
from opwright.cli.input_arguments import open_named_inputs
from opwright.cli.runs import current_manifest, run_of
from opwright.emit.emitter import Options
from opwright.emit.registry import build_folders, program_families
from opwright.incremental.identity import RunIdentity
from opwright.libraries.stubs.namespaces import namespaces
from opwright.release.inputs import Inputs
from opwright.run.incremental_generation import IncrementalGeneration, run_facts
from opwright.run.request import Request
from opwright.source.diagnostic import Diagnostics
from opwright.source.terminal import tell
from opwright.source.text import SourceFile

_PROGRAM: Final = "stubs"

#: The families that this command makes.
_FAMILIES: Final = tuple(program_families(_PROGRAM))

#: Names that Python's packaging accepts.
_PROJECT_NAME: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    add_input_arguments(parser)
    operators = parser.add_argument_group("operators")
    repeated(operators)(
        "--library",
        metavar="FILE",
        help="the operators of this library file, as `opwright generate --library` takes it (may be repeated)",
    )
    operators.add_argument(
        "--yaml",
        metavar="FILE",
        nargs="+",
        action="extend",
        default=[],
        help="operators of any namespaces, in a file like native_functions.yaml",
    )
    operators.add_argument(
        "--namespace",
        metavar="NS",
        action="append",
        help="write stubs only for this namespace (may be repeated); others have no types",
    )
    output = parser.add_argument_group("outputs")
    output.add_argument("--out", metavar="DIR", required=True, help="the folder to write `torch-stubs` into")
    output.add_argument(
        "--project",
        metavar="NAME",
        type=_project_name,
        help="also write a pyproject.toml, so that `pip install DIR` installs the stubs",
    )
    output.add_argument(
        "--no-prune", dest="prune", action="store_false", help="keep files that are no longer generated"
    )
    output.add_argument("--provenance", metavar="FILE", help="write the origin of each line, for `opwright where`")
    group = parser.add_argument_group("instead of writing")
    group.add_argument("--dry-run", action="store_true", help="list the files that a run would make; write nothing")
    group.add_argument("--check", action="store_true", help="write nothing, and fail if a file on disk differs")
    parser.set_defaults(depfile=None, stamp=None, list_outputs=None)


def _project_name(text: str) -> str:
    if _PROJECT_NAME.fullmatch(text) is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not a project name: use letters, digits, `-`, `_` and `.`")
    return text


def _run(arguments: argparse.Namespace) -> RunIdentity:
    folders = build_folders(arguments.out, _FAMILIES)
    return run_of(_PROGRAM, arguments, arguments.out, folders, _FAMILIES)


def is_up_to_date(arguments: argparse.Namespace) -> bool:
    """Whether an earlier run did all that this one would do; then print its summary."""
    started = time.perf_counter()
    if arguments.dry_run or arguments.check:
        return False
    manifest = current_manifest(_run(arguments), arguments.color)
    if manifest is None:
        return False
    _print_summary(arguments, manifest.facts, 0, started)
    return True


def _print_summary(arguments: argparse.Namespace, facts: Mapping[str, str | int], written: int, started: float) -> None:
    """Print what a run made, by the facts of its manifest, and how many files it wrote."""
    files = int(facts["files"])
    tell(
        f"{facts['operators']:,} overloads of {facts['namespaces']}: {files} files below {arguments.out}, "
        f"{written} written, {files - written} unchanged, {time.perf_counter() - started:.2f} s"
    )


def _request(arguments: argparse.Namespace, inputs: Inputs) -> Request:
    return Request(
        inputs=inputs,
        folders=build_folders(arguments.out, _FAMILIES),
        families=_FAMILIES,
        options=Options(stub_project=arguments.project),
        release=arguments.release,
        libraries=tuple(map(SourceFile.read, arguments.library)),
        operator_files=tuple(map(SourceFile.read, arguments.yaml)),
        namespaces=None if arguments.namespace is None else tuple(arguments.namespace),
    )


def run(arguments: argparse.Namespace, sink: Diagnostics) -> int:
    """Write the stubs, and print a summary."""
    started = time.perf_counter()
    incremental = IncrementalGeneration(_run(arguments))
    inputs, named = open_named_inputs(arguments, sink), [*arguments.library, *arguments.yaml]
    generation = incremental.load(inputs, lambda _: _request(arguments, inputs), sink, named)
    if arguments.dry_run or arguments.check:
        return console.SUCCESS if list_or_check(arguments, incremental, generation, sink) else console.FAULTS
    names = {"namespaces": ", ".join(f"torch.ops.{namespace.name}" for namespace in namespaces(generation.job))}
    outcome = write_outputs(arguments, incremental, generation, names)
    _print_summary(arguments, {**names, **run_facts(generation, outcome)}, outcome.summary.written, started)
    return console.SUCCESS
