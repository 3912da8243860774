"""Generate autograd's files, the Python bindings and related files in one run; takes the flags of PyTorch's
`tools/setup_helpers/generate_code.py`, which its build calls.

Autograd's inputs come from the folder that belongs to native_functions.yaml: `tools/autograd` in a source tree, or
`autograd` beside the packaged ATen of an installed PyTorch."""

from __future__ import annotations

import argparse
import os
from functools import partial

from opwright.cli.arguments import Parser, add_drop_in_arguments, selection, spellings, templates_as_named
from opwright.cli.runs import drop_in_run_of, run_unless_current, write_all
from opwright.cli.streams import leave
from opwright.emit.registry import program_families
from opwright.run.incremental_generation import IncrementalGeneration
from opwright.torchgen.programs import check_kernel_file, request_of

# Modules that do the work are imported only if there is work.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Final

    from opwright.emit.emitter import Options
    from opwright.incremental.identity import RunIdentity
    from opwright.model.selection import Selection
    from opwright.release.inputs import Inputs
    from opwright.run.request import Request
    from opwright.source.diagnostic import Diagnostics

_PROGRAM: Final = "generate_code"

_NATIVE: Final = "aten/src/ATen/native/native_functions.yaml"
_TAGS: Final = "aten/src/ATen/native/tags.yaml"

#: The YAML of the lazy TorchScript backend in the folder of ATen, and the file that defines its kernels.
_LAZY_YAML: Final = os.path.join("native", "ts_native_functions.yaml")
_LAZY_KERNELS: Final = "torch/csrc/lazy/ts_backend/ts_native_functions.cpp"


def _parser() -> Parser:
    parser = Parser("python -m opwright.torchgen.generate_code", __doc__, last_wins=True)
    add = parser.add_argument
    add("--native-functions-path", metavar="FILE", default=_NATIVE, help="the path of native_functions.yaml")
    add("--tags-path", metavar="FILE", default=_TAGS, help="the path of tags.yaml")
    add("--gen-dir", metavar="DIR", default=".", help="the folder that has `torch/csrc`, without --install-dir")
    add(
        *spellings("install-dir"),
        metavar="DIR",
        help="output folder (default: in --gen-dir torch/csrc, and torch/testing/_internal/generated for annotated"
        " arguments)",
    )
    subsets = [flag for flag in program_families(_PROGRAM).values() if flag is not None]
    add("--subset", choices=subsets, help="make only this part")
    add("--disable-autograd", action="store_true", help="omit the kernels of autograd, of views and of tracing")
    add("--selected-op-list-path", metavar="FILE", help="a YAML list of operators to include")
    add(
        *spellings("operators-yaml-path"),
        dest="op_selection_yaml_path",
        metavar="FILE",
        help="a YAML file that selects operators, and which of them are for training",
    )
    add(*spellings("force-schema-registration"), action="store_true", help="has no effect here")
    add(
        *spellings("gen-lazy-ts-backend"),
        action="store_true",
        help="make the lazy TorchScript backend too, from ts_native_functions.yaml beside native_functions.yaml",
    )
    add(*spellings("per-operator-headers"), action="store_true", help="include a header per operator in its files")
    add_drop_in_arguments(parser)
    return parser


def autograd_folder(native_functions: str) -> str:
    """Folder of autograd's inputs that belongs to a `native_functions.yaml`.

    >>> autograd_folder("pytorch/aten/src/ATen/native/native_functions.yaml")
    'pytorch/tools/autograd'
    """
    aten = os.path.dirname(os.path.dirname(native_functions))
    beside = os.path.normpath(os.path.join(aten, os.pardir, "autograd"))
    if os.path.isfile(os.path.join(beside, "derivatives.yaml")):
        return beside
    return os.path.normpath(os.path.join(aten, os.pardir, os.pardir, os.pardir, "tools", "autograd"))


def _folders(arguments: argparse.Namespace) -> dict[str, str]:
    # --install-dir is used as it stands, and --gen-dir only without it.
    chosen: str | None = arguments.install_dir
    install = os.path.join(arguments.gen_dir, "torch", "csrc") if chosen is None else chosen
    testing = os.path.join(arguments.gen_dir, "torch", "testing", "_internal", "generated")
    lazy = {"lazy": _lazy_folder(arguments)} if arguments.gen_lazy_ts_backend else {}
    return {
        **lazy,
        "autograd": os.path.join(install, "autograd", "generated"),
        "functionalization": os.path.join(install, "functionalization", "generated"),
        "testing": testing if chosen is None else install,
    }


def _lazy_folder(arguments: argparse.Namespace) -> str:
    """Output folder of lazy tensors, which include directives name."""
    from pathlib import PurePath

    install: str = arguments.install_dir or os.fspath(PurePath(arguments.gen_dir) / "torch/csrc")
    return os.path.join(install, "lazy", "generated")


def _lazy_yaml(arguments: argparse.Namespace) -> str:
    return os.path.join(os.path.dirname(os.path.dirname(arguments.native_functions_path)), _LAZY_YAML)


def _selection(arguments: argparse.Namespace, sink: Diagnostics) -> Selection:
    from opwright.dialects.selection import load_operator_names, selection_of_names
    from opwright.source.diagnostic import Fault
    from opwright.source.text import SourceFile

    path: str | None = arguments.selected_op_list_path
    arguments.op_registration_whitelist = None
    if path is None:
        return selection(arguments, sink)
    try:
        names = load_operator_names(SourceFile.read(path), sink)
    except Fault as fault:
        # Continue with the other inputs, so that one run reports all faults.
        sink.add(fault.diagnostic)
        names = ()
    bases = [name.partition(".")[0] for name in names]
    if arguments.op_selection_yaml_path is not None:
        # The two exclude each other; the shared check reports that.
        arguments.op_registration_whitelist = bases
        return selection(arguments, sink)
    return selection_of_names(bases, for_training=True)


def _run(arguments: argparse.Namespace, run: RunIdentity, sink: Diagnostics) -> int:
    from opwright.cli import console
    from opwright.cli.input_arguments import completed_inputs
    from opwright.files.writer import make_folder
    from opwright.release.inputs import from_files

    native: str = arguments.native_functions_path
    autograd = autograd_folder(native)
    inputs = completed_inputs(arguments, from_files(native, arguments.tags_path, autograd), sink, shims=False)
    chosen = [path for path in (arguments.op_selection_yaml_path, arguments.selected_op_list_path) if path is not None]
    if arguments.gen_lazy_ts_backend:
        chosen += [_lazy_yaml(arguments), _LAZY_KERNELS]
    templates = templates_as_named(autograd, apart=arguments.inputs_only)
    incremental = IncrementalGeneration(run)
    make_request = partial(_request, arguments, inputs, run, templates)
    if arguments.gen_lazy_ts_backend:
        generation = incremental.load(inputs, make_request, sink, chosen)
        check_kernel_file(_LAZY_KERNELS, generation, sink)
        incremental.write(generation)
    else:
        write_all(incremental, inputs, make_request, sink, chosen)
    for folder in _folders(arguments).values():
        make_folder(folder)
    return console.SUCCESS


def _request(
    arguments: argparse.Namespace, inputs: Inputs, run: RunIdentity, templates: str, sink: Diagnostics
) -> Request:
    from opwright.source.text import SourceFile

    return request_of(arguments, inputs, _folders(arguments), run.families)._replace(
        options=_options(arguments, templates),
        selection=_selection(arguments, sink),
        tolerant=True,
        backends=(SourceFile.read(_lazy_yaml(arguments)),) if arguments.gen_lazy_ts_backend else (),
    )


def _options(arguments: argparse.Namespace, templates: str) -> Options:
    from opwright.backends.choices import BackendHeaders, LazyNames
    from opwright.emit.emitter import Options

    options = Options(autograd_templates=templates, disable_autograd=arguments.disable_autograd)
    if not arguments.gen_lazy_ts_backend:
        return options
    names = LazyNames(
        node_base="TsNode",
        node_base_header="torch/csrc/lazy/ts_backend/ts_node.h",
        in_tree=True,
        forced_fallback=True,
        style="torchscript",
    )
    return options._replace(
        per_operator_headers=arguments.per_operator_headers,
        program=options.autograd_program,
        guests=(BackendHeaders(f"{_lazy_folder(arguments)}/"), names),
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Run the program and return its exit status."""
    arguments = _parser().parse(argv)
    folders = _folders(arguments)
    # The flag asks for lazy tensors, whatever the subset.
    families = [*program_families(_PROGRAM, arguments.subset), *(["lazy"] if arguments.gen_lazy_ts_backend else [])]
    # Whatever the arguments, only this output folder holds generated files alone.
    run = drop_in_run_of(_PROGRAM, arguments, folders["autograd"], folders, families)
    # Every run of PyTorch's program makes all folders, whatever the subset.
    is_current = None if all(map(os.path.isdir, folders.values())) else False
    return run_unless_current(run, lambda sink: _run(arguments, run, sink), arguments, is_current=is_current)


if __name__ == "__main__":
    leave(main)
