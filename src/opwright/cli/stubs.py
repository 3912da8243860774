"""Write stubs, so that type checkers and editors know the operators of `torch.ops`.

  opwright stubs --out stubs                                       every operator of the installed PyTorch
  opwright stubs --out stubs --yaml my_ops.yaml                    the operators of a library too
  opwright stubs --out stubs --yaml my_ops.yaml --namespace my     the operators of the library alone

The run writes the package `torch-stubs` below --out. Type checkers find it among installed packages; --project writes
what pip needs to install it."""

from __future__ import annotations

import argparse
import re
import sys
import time
from typing import Final

from opwright.build.emitter_files import Build
from opwright.build.engine import Engine
from opwright.build.templates import Templates
from opwright.cli import console
from opwright.cli.arguments import add_input_arguments, ask_whole_download
from opwright.dialects.native_functions.libraries import load_libraries
from opwright.dialects.table import TAGS
from opwright.emit.emitter import AnyEmitter, Job
from opwright.emit.stubs.codes import NO_OWN_STUBS, UNKNOWN_NAMESPACE
from opwright.emit.stubs.files import emitters, own_stub_emitters, project_emitter
from opwright.emit.stubs.namespaces import namespaces
from opwright.model.catalog import Catalog
from opwright.release.inputs import Inputs, open_inputs
from opwright.run.generation import Generation
from opwright.run.request import Request
from opwright.source.diagnostic import Diagnostics, did_you_mean
from opwright.source.text import SourceFile

#: What Python's packaging takes as a name.
_PROJECT_NAME: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    add_input_arguments(parser)
    operators = parser.add_argument_group("operators")
    operators.add_argument(
        "--yaml",
        metavar="FILE",
        nargs="+",
        action="extend",
        default=[],
        help="the operators of a library, of any namespaces, in a file like native_functions.yaml",
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
    output.add_argument("--dry-run", action="store_true", help="list the files that a run would make; write nothing")


def _project_name(text: str) -> str:
    if _PROJECT_NAME.fullmatch(text) is None:
        raise argparse.ArgumentTypeError(f"{text!r} is no name of a project: use letters, digits, `-`, `_` and `.`")
    return text


def run(arguments: argparse.Namespace, sink: Diagnostics) -> int:
    """Write the stubs, and print a summary."""
    started = time.perf_counter()
    inputs = open_inputs(arguments.torch, arguments.source_path, ask_whole=ask_whole_download(arguments), sink=sink)
    inputs = inputs.with_native_aot(arguments.native_aot_ops_dir)
    folders = {"stubs": arguments.out}
    generation = Generation(Request(inputs=inputs, folders=folders, families=(), release=arguments.release), sink)
    own = generation.job
    libraries = [SourceFile.read(path) for path in arguments.yaml]
    catalog = load_libraries(own.catalog, libraries, TAGS.files(inputs)[0], sink, own.rules)
    sink.raise_if_errors()
    job = Job(_choose_namespaces(catalog, arguments.namespace, sink), own.rules, own.options)
    engine = Engine(folders)
    chosen: list[AnyEmitter] = [*emitters(job), *own_stub_emitters(_own_stubs(inputs, sink))]
    if arguments.project is not None:
        chosen.append(project_emitter(arguments.project, str(generation.version)))
    tasks = Build(job, Templates(inputs.read_text)).tasks(chosen)
    if arguments.dry_run:
        sys.stdout.writelines(f"{planned.target}\n" for planned in engine.plan(tasks).outputs)
        return console.SUCCESS
    summary = engine.write(tasks, {})
    shown = ", ".join(f"torch.ops.{namespace.name}" for namespace in namespaces(job))
    print(
        f"{len(job.catalog):,} overloads of {shown}: {summary.files} files below {arguments.out}, "
        f"{summary.written} written, {summary.unchanged} unchanged, {time.perf_counter() - started:.2f} s"
    )
    return console.SUCCESS


def _own_stubs(inputs: Inputs, sink: Diagnostics) -> dict[str, str]:
    """The stubs that PyTorch brings, by path."""
    paths = [path for path in inputs.member_names("torch/") if path.endswith(".pyi")]
    if not paths:
        sink.warning(NO_OWN_STUBS, f"no stubs of PyTorch's own at {inputs.origin}")
    return {path: SourceFile.decode(path, data).text for path, data in inputs.read_members(paths).items()}


def _choose_namespaces(catalog: Catalog, wanted: list[str] | None, sink: Diagnostics) -> Catalog:
    """The catalog with the functions of the wanted namespaces; FaultsFound where one of these has none."""
    if wanted is None:
        return catalog
    namespaces = dict.fromkeys([function.namespace for function in catalog.functions])
    for name in wanted:
        if name not in namespaces:
            help = did_you_mean(name, namespaces) or f"there are: {', '.join(namespaces)}"
            sink.error(UNKNOWN_NAMESPACE, f"no operator is in the namespace `{name}`", help=help)
    sink.raise_if_errors()
    functions = tuple([function for function in catalog.functions if function.namespace in wanted])
    return Catalog(functions, (), (), catalog.keys, catalog.tags)
