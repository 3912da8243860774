"""Generate the registrations and headers of ExecuTorch's kernels; takes the flags of `executorch.codegen.gen`.

It writes the same bytes, and says where these are wrong; with --strict, it writes right ones."""

from __future__ import annotations

import argparse
import os
from functools import partial

from opwright.cli.arguments import Parser, add_drop_in_arguments, selection, spellings
from opwright.cli.runs import run_unless_current
from opwright.cli.streams import leave
from opwright.emit.registry import program_families
from opwright.mobile.executorch.template_names import template_paths
from opwright.mobile.mobile_codes import NO_FILE, NO_FILE_WARNING, NO_FILES, NO_TEMPLATES
from opwright.run.incremental_generation import IncrementalGeneration
from opwright.torchgen.programs import folders_in_one, run_with_lists, write_list, write_with_lists, writes_nothing

# Modules that do the work are imported only if there is work.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from opwright.emit.emitter import Options
    from opwright.files.plain_files import Status
    from opwright.files.staging import Journal
    from opwright.incremental.identity import RunIdentity
    from opwright.mobile.executorch_choices import ExecutorchFiles
    from opwright.release.inputs import Inputs
    from opwright.run.request import Request
    from opwright.source.diagnostic import Diagnostics
    from opwright.source.text import SourceFile

_PROGRAM = "executorch.gen"


def _parser() -> Parser:
    parser = Parser("python -m opwright.torchgen.executorch", __doc__, last_wins=True)
    add = parser.add_argument
    add("-s", "--source-path", metavar="DIR", help="the folder that holds ExecuTorch's `templates`")
    _add_input_arguments(parser)
    add("-d", *spellings("install-dir"), default="build/generated", metavar="DIR", help="output folder")
    add("-o", "--output-dependencies", metavar="FILE", help="write a list of the output files, for CMake")
    add("--dry-run", action="store_true", help="write nothing but the list")
    add(
        *spellings("use-aten-lib"),
        action="store_true",
        help="generate for PyTorch's kernels and tensors instead of ExecuTorch's",
    )
    add(
        *spellings("manual-registration"),
        action="store_true",
        help="register kernels by a call instead of when the program starts",
    )
    kinds = list(program_families(_PROGRAM).values())
    add("--generate", nargs="*", choices=kinds, default=kinds, help="the kinds of files to generate")
    add(*spellings("add-exception-boundary"), action="store_true", help="catch the exceptions of kernels")
    add(
        *spellings("static-dispatch-backend"),
        nargs="*",
        metavar="KEY",
        help="has no effect, as in ExecuTorch's program",
    )
    add("--rocm", action="store_true", help="has no effect, as in ExecuTorch's program")
    add(
        "--strict",
        action="store_true",
        help="write right files where ExecuTorch's program writes wrong ones or leaves something out, and make "
        "errors of the warnings about it where that is not possible",
    )
    add_drop_in_arguments(parser, strict=False)
    return parser


def _add_input_arguments(parser: Parser) -> None:
    add = parser.add_argument
    add(
        *spellings("functions-yaml-path"),
        metavar="FILE",
        help="the file of operators and their kernels, which may name PyTorch's operators",
    )
    add(*spellings("custom-ops-yaml-path"), metavar="FILE", help="the file of custom operators")
    add(*spellings("aten-yaml-path"), metavar="FILE", required=True, help="PyTorch's native_functions.yaml")
    add("--tags-path", metavar="FILE", required=True, help="PyTorch's tags.yaml")
    add(
        *spellings("op-registration-whitelist"),
        nargs="*",
        metavar="NAME",
        help="only these operators; each is `namespace::name` without overload",
    )
    add(*spellings("op-selection-yaml-path"), metavar="FILE", help="a YAML file that selects operators and kernels")


def _options(arguments: argparse.Namespace) -> Options:
    from opwright.emit.emitter import Options
    from opwright.mobile.executorch_choices import ExecutorchOptions

    choices = ExecutorchOptions(
        aten_mode=arguments.use_aten_lib,
        manual_registration=arguments.manual_registration,
        exception_boundary=arguments.add_exception_boundary,
        as_reference=not arguments.strict,
    )
    return Options(per_operator_headers=False, guests=(choices,))


def _files(arguments: argparse.Namespace, sink: Diagnostics) -> ExecutorchFiles:
    from opwright.mobile.executorch_choices import ExecutorchFiles

    functions, custom = arguments.functions_yaml_path, arguments.custom_ops_yaml_path
    if not functions and not custom:
        sink.warning(NO_FILES, "neither `--functions-yaml-path` nor `--custom-ops-yaml-path` names a file")
    # In ATen mode the operators are PyTorch's own.
    read_functions = () if arguments.use_aten_lib else _read(functions, arguments, sink)
    return ExecutorchFiles(read_functions, _read(custom, arguments, sink), bool(custom))


def _read(path: str | None, arguments: argparse.Namespace, sink: Diagnostics) -> tuple[SourceFile, ...]:
    """The file at a path; none if there is none, which is reported unless no path is given."""
    from opwright.source.text import SourceFile

    if not path:
        return ()
    if os.path.exists(path):
        return (SourceFile.read(path),)
    message = f"there is no file `{path}`"
    if arguments.strict:
        sink.error(NO_FILE, message)
    else:
        sink.warning(NO_FILE_WARNING, message)
    return ()


def _request(arguments: argparse.Namespace, inputs: Inputs, run: RunIdentity, sink: Diagnostics) -> Request:
    from opwright.run.request import Request

    return Request(
        inputs=inputs,
        release=arguments.release,
        folders=folders_in_one(_PROGRAM, arguments.install_dir),
        families=run.families,
        options=_options(arguments),
        selection=selection(arguments, sink),
        tolerant=not arguments.strict,
        guests=(_files(arguments, sink),),
        templates=_template_folder(arguments),
    )


def _template_folder(arguments: argparse.Namespace) -> str:
    return os.path.join(arguments.source_path or "", "templates")


def _check_templates(arguments: argparse.Namespace) -> None:
    """Raises Fault if the source path has no templates at all."""
    from opwright.source.diagnostic import Fault

    folder = _template_folder(arguments)
    if not any(map(os.path.isfile, template_paths(folder))):
        message = f"the folder `{folder}` has no templates of ExecuTorch"
        help = "name the folder `codegen` of ExecuTorch's sources with `-s`; packages do not have its templates"
        raise Fault.at(NO_TEMPLATES, message, help=help)


def _inputs(arguments: argparse.Namespace) -> Inputs:
    """PyTorch's inputs around the named files; autograd's folder tells their release."""
    from opwright.release.inputs import from_files

    native: str = arguments.aten_yaml_path
    folder = os.path.dirname(native)
    autograd = os.path.join(folder, os.pardir, os.pardir, "autograd")
    if not os.path.isdir(autograd):
        autograd = os.path.join(folder, *[os.pardir] * 4, "tools", "autograd")
    return from_files(native, arguments.tags_path, os.path.normpath(autograd))


def _run(arguments: argparse.Namespace, run: RunIdentity, sink: Diagnostics) -> int:
    from opwright.cli import console
    from opwright.cli.depfile import compiled_outputs
    from opwright.cli.input_arguments import completed_inputs

    _check_templates(arguments)
    inputs = completed_inputs(arguments, _inputs(arguments), sink, autograd=False, shims=False)
    incremental = IncrementalGeneration(run)
    make_request = partial(_request, arguments, inputs, run)
    named = [arguments.functions_yaml_path, arguments.custom_ops_yaml_path, arguments.op_selection_yaml_path]
    more_files = [*filter(None, named), *template_paths(_template_folder(arguments))]
    generation = incremental.load(inputs, make_request, sink, more_files)
    path: str | None = arguments.output_dependencies

    def write_lists(journal: Journal | None) -> dict[str, Status]:
        return write_list(path, compiled_outputs(generation.plan()), journal) if path else {}

    write_with_lists(arguments, incremental, generation, [path] if path else [], write_lists)
    return console.SUCCESS


def main(argv: Sequence[str] | None = None) -> int:
    """Run the program and return its exit status."""
    arguments = _parser().parse(argv)
    families = [family for family, kind in program_families(_PROGRAM).items() if kind in arguments.generate]
    run = run_with_lists(_PROGRAM, arguments, folders_in_one(_PROGRAM, arguments.install_dir), families)
    is_current = False if writes_nothing(arguments) else None
    return run_unless_current(run, lambda sink: _run(arguments, run, sink), arguments, is_current=is_current)


if __name__ == "__main__":
    leave(main)
