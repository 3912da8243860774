"""Generate the registrations and headers of ExecuTorch's kernels; takes the flags of `executorch.codegen.gen`.

It writes the same bytes, and says where these are wrong; with --strict, it writes right ones."""

from __future__ import annotations

import argparse
import os

from opwright.cli.arguments import Parser, add_drop_in_arguments, selection, spellings
from opwright.cli.runs import current_manifest, drop_in_run_of, run_unless_current
from opwright.cli.streams import leave
from opwright.emit.registry import build_folders, program_families
from opwright.files.plain_files import real_path
from opwright.incremental.identity import RunIdentity
from opwright.mobile.executorch.template_names import template_paths
from opwright.run.incremental_generation import IncrementalGeneration
from opwright.source.codes import NO_FILE, NO_FILE_WARNING, NO_FILES, NO_TEMPLATES

# Modules that do the work are imported only if there is work.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from opwright.emit.emitter import Options
    from opwright.files.plain_files import Status
    from opwright.files.staging import Journal
    from opwright.mobile.executorch_choices import ExecutorchFiles
    from opwright.release.inputs import Inputs
    from opwright.run.generation import Generation
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
    """Declare the arguments that name inputs and select operators."""
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


def _families(arguments: argparse.Namespace) -> tuple[str, ...]:
    return tuple(family for family, kind in program_families(_PROGRAM).items() if kind in arguments.generate)


def _folders(arguments: argparse.Namespace) -> dict[str, str]:
    return dict.fromkeys(build_folders("", program_families(_PROGRAM)), arguments.install_dir)


def _identity(arguments: argparse.Namespace) -> RunIdentity:
    """Identity of the run. Its state is with the output folder, or with the list if it makes only that."""
    path = arguments.output_dependencies and os.path.realpath(arguments.output_dependencies)
    home = os.path.dirname(path) if arguments.dry_run and path else arguments.install_dir
    kind = {"list": path or None, "dry run": arguments.dry_run}
    return drop_in_run_of(_PROGRAM, arguments, home, _folders(arguments), _families(arguments), **kind)


def _writes_nothing(arguments: argparse.Namespace) -> bool:
    return bool(arguments.dry_run and not arguments.output_dependencies)


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
    """Files of operators that are named and exist."""
    from opwright.mobile.executorch_choices import ExecutorchFiles

    functions, custom = arguments.functions_yaml_path, arguments.custom_ops_yaml_path
    if not functions and not custom:
        sink.warning(NO_FILES, "neither `--functions-yaml-path` nor `--custom-ops-yaml-path` names a file")
    # In ATen mode the operators are PyTorch's own.
    read_functions = None if arguments.use_aten_lib else _read(functions, arguments, sink)
    read_custom = _read(custom, arguments, sink)
    return ExecutorchFiles(
        () if read_functions is None else (read_functions,),
        () if read_custom is None else (read_custom,),
        bool(custom),
    )


def _read(path: str | None, arguments: argparse.Namespace, sink: Diagnostics) -> SourceFile | None:
    """File at a path; None if there is none, which is reported unless no path is given."""
    from opwright.source.text import SourceFile

    if not path:
        return None
    if os.path.exists(path):
        return SourceFile.read(path)
    message = f"there is no file `{path}`"
    if arguments.strict:
        sink.error(NO_FILE, message)
    else:
        sink.warning(NO_FILE_WARNING, message)
    return None


def _request(arguments: argparse.Namespace, inputs: Inputs, sink: Diagnostics) -> Request:
    from opwright.run.request import Request

    return Request(
        inputs=inputs,
        release=arguments.release,
        folders=_folders(arguments),
        families=_families(arguments),
        options=_options(arguments),
        selection=selection(arguments, sink),
        tolerant=not arguments.strict,
        guests=(_files(arguments, sink),),
        templates=_template_folder(arguments),
    )


def _further_files(arguments: argparse.Namespace) -> list[str]:
    """Files that the run reads besides PyTorch's inputs."""
    paths = [arguments.functions_yaml_path, arguments.custom_ops_yaml_path, arguments.op_selection_yaml_path]
    return [*filter(None, paths), *template_paths(_template_folder(arguments))]


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


def _run(arguments: argparse.Namespace, sink: Diagnostics) -> int:
    from opwright.cli import console
    from opwright.cli.input_arguments import completed_inputs
    from opwright.files.writer import make_folder

    _check_templates(arguments)
    inputs = completed_inputs(arguments, _inputs(arguments), sink, autograd=False, shims=False)
    run = _identity(arguments)
    incremental = IncrementalGeneration(run)
    generation = incremental.load(
        inputs, lambda sink: _request(arguments, inputs, sink), sink, _further_files(arguments)
    )
    if arguments.output_dependencies:
        from opwright.cli.extra_files import check_overwrites

        named = [("--output-dependencies", arguments.output_dependencies)]
        check_overwrites(named, generation, None, incremental.stamps.files if incremental.stamps is not None else ())
    make_folder(arguments.install_dir)
    if not arguments.dry_run:
        incremental.write(generation, write_extras=lambda _, journal: _write_list(arguments, generation, journal))
    elif not _writes_nothing(arguments):
        with incremental.turn() as journal:
            incremental.remember(sink, _write_list(arguments, generation, journal), {})
    return console.SUCCESS


def _write_list(arguments: argparse.Namespace, generation: Generation, journal: Journal | None) -> dict[str, Status]:
    """Write the requested list of output files, and give its status."""
    path = arguments.output_dependencies
    if not path:
        return {}
    from pathlib import PurePath

    from opwright.files.depfile import cmake_list, compiled_outputs
    from opwright.files.writer import Writer

    with Writer(journal) as writer:
        writer.write(real_path(path), os.fsencode(cmake_list(PurePath(path).stem, compiled_outputs(generation.plan()))))
    return writer.statuses


def _is_up_to_date(arguments: argparse.Namespace) -> bool:
    """Whether an earlier run did all that this one would do."""
    if _writes_nothing(arguments):
        return False
    return current_manifest(_identity(arguments)) is not None


def main(argv: Sequence[str] | None = None) -> int:
    """Run the program and return its exit status."""
    arguments = _parser().parse(argv)
    is_current = _is_up_to_date(arguments)
    return run_unless_current(
        _identity(arguments), lambda sink: _run(arguments, sink), arguments, is_current=is_current
    )


if __name__ == "__main__":
    leave(main)
