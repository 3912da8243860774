"""Generate the code of lazy tensors of a backend; takes the flags of `python -m torchgen.gen_lazy_tensor`.

It writes the same bytes. The operators are those of the installed PyTorch, unless a flag names another one."""

from __future__ import annotations

import argparse

from opwright.cli.arguments import add_prune_argument, not_empty
from opwright.cli.parser import Parser
from opwright.cli.runs import drop_in_run_of, run_unless_current
from opwright.cli.streams import leave
from opwright.emit.registry import build_folders, program_families
from opwright.run.session import Session
from opwright.torchgen.lazy_kernels import check_kernel_file

# Modules that do the work are imported only if there is work.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Final

    from opwright.build.runs import Run
    from opwright.model.lazy_backend import LazyNames
    from opwright.release.inputs import Inputs
    from opwright.run.request import Request
    from opwright.source.diagnostic import Diagnostics

_PROGRAM: Final = "gen_lazy_tensor"


def _parser() -> Parser:
    parser = Parser("python -m opwright.torchgen.gen_lazy_tensor", __doc__)
    add = parser.add_argument
    add("-s", "--source-yaml", "--source_yaml", required=True, metavar="FILE", help="the backend file")
    add("-o", "--output-dir", "--output_dir", required=True, metavar="DIR", help="output folder")
    add("--dry-run", "--dry_run", metavar="TEXT", default="", help="with any text, write nothing")
    add(
        "--impl-path",
        "--impl_path",
        metavar="FILE",
        help="the C++ file with the kernels that are not generated, to report those that it does not define",
    )
    add(
        "--gen-ts-lowerings",
        "--gen_ts_lowerings",
        action="store_true",
        help="generate functions that lower nodes to TorchScript",
    )
    add("--node-base", "--node_base", metavar="CLASS", default="Node", help="the base class of nodes")
    add("--node-base-hdr", "--node_base_hdr", metavar="HEADER", help="the header that declares it")
    add(
        "--shape-inference-hdr",
        "--shape_inference_hdr",
        metavar="FILE",
        default="torch/csrc/lazy/core/shape_inference.h",
        help="the header that declares shape functions",
    )
    add("--tensor-class", "--tensor_class", metavar="CLASS", help="has no effect, as in PyTorch's own program")
    add(
        "--tensor-class-hdr",
        "--tensor_class_hdr",
        metavar="HEADER",
        default="torch/csrc/lazy/core/tensor.h",
        help="the header that declares lazy tensors",
    )
    add(
        "--backend-name",
        "--backend_name",
        metavar="TEXT",
        default="TorchScript",
        help="with an empty text, generated headers are included in quotes; the name is TorchScript all the same, as "
        "in PyTorch's own program",
    )
    add("--torch", metavar="SPEC", type=not_empty, default="auto", help="another PyTorch than the installed one")
    add("--source-path", metavar="DIR", type=not_empty, help="a folder of PyTorch's inputs instead")
    add_prune_argument(parser)
    return parser


def _folders(arguments: argparse.Namespace) -> dict[str, str]:
    """Every output folder of the program's families is the one that is named."""
    return dict.fromkeys(build_folders("", program_families(_PROGRAM)), arguments.output_dir)


def _run(arguments: argparse.Namespace, run: Run, sink: Diagnostics) -> int:
    from opwright.cli import console
    from opwright.release.inputs import open_inputs

    inputs = open_inputs(arguments.torch, arguments.source_path, sink=sink)
    session = Session(run)
    besides = [path for path in (arguments.source_yaml, arguments.impl_path) if path is not None]
    generation = session.load(inputs, lambda: _request(arguments, inputs, run), sink, besides)
    if arguments.impl_path is not None:
        check_kernel_file(arguments.impl_path, generation, sink)
    if not arguments.dry_run:
        session.write(generation)
    return console.SUCCESS


def _request(arguments: argparse.Namespace, inputs: Inputs, run: Run) -> Request:
    from opwright.emit.emitter import Options
    from opwright.run.request import Request
    from opwright.source.text import SourceFile

    return Request(
        inputs=inputs,
        folders=_folders(arguments),
        families=run.families,
        options=Options(per_operator_headers=False, backend_folder=f"{arguments.output_dir}/", lazy=_names(arguments)),
        tolerant=True,
        backends=(SourceFile.read(arguments.source_yaml),),
    )


def _names(arguments: argparse.Namespace) -> LazyNames:
    from opwright.model.lazy_backend import LazyNames

    return LazyNames(
        node_base=arguments.node_base,
        node_base_header=arguments.node_base_hdr,
        shape_header=arguments.shape_inference_hdr,
        tensor_header=arguments.tensor_class_hdr,
        # PyTorch's program passes the name for another parameter, which only asks whether there is one.
        in_tree=bool(arguments.backend_name),
        style="torchscript" if arguments.gen_ts_lowerings else "plain",
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Run the program and return its exit status."""
    arguments = _parser().parse(argv)
    families = tuple(program_families(_PROGRAM))
    run = drop_in_run_of(_PROGRAM, arguments, arguments.output_dir, _folders(arguments), families)
    return run_unless_current(run, lambda sink: _run(arguments, run, sink))


if __name__ == "__main__":
    leave(main)
