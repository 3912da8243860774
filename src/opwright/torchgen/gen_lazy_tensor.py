"""Generate the code of lazy tensors of a backend; takes the flags of `python -m torchgen.gen_lazy_tensor`.

It writes the same bytes. The operators are those of the installed PyTorch, unless a flag names another one."""

from __future__ import annotations

import argparse

from opwright.cli.arguments import Parser, spellings
from opwright.cli.streams import leave
from opwright.torchgen.lazy_attributes import lazy_attributes
from opwright.torchgen.programs import add_file_arguments, add_input_arguments, run_backend

# Modules that do the work are imported only if there is work.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from opwright.backends.choices import LazyNames
    from opwright.emit.emitter import Options


# Type checkers take a module that has this function for one that has every attribute.
if not TYPE_CHECKING:
    __getattr__ = lazy_attributes("lazy_tensors")


def _parser() -> Parser:
    parser = Parser("python -m opwright.torchgen.gen_lazy_tensor", __doc__, last_wins=True)
    add_file_arguments(
        parser, "the C++ file with the kernels that are not generated, to report those that it does not define"
    )
    add = parser.add_argument
    add(*spellings("gen-ts-lowerings"), action="store_true", help="generate functions that lower nodes to TorchScript")
    add(*spellings("node-base"), metavar="CLASS", default="Node", help="the base class of nodes")
    add(*spellings("node-base-hdr"), metavar="HEADER", help="the header that declares it")
    add(
        *spellings("shape-inference-hdr"),
        metavar="FILE",
        default="torch/csrc/lazy/core/shape_inference.h",
        help="the header that declares shape functions",
    )
    add(*spellings("tensor-class"), metavar="CLASS", help="has no effect, as in PyTorch's program")
    add(
        *spellings("tensor-class-hdr"),
        metavar="HEADER",
        default="torch/csrc/lazy/core/tensor.h",
        help="the header that declares lazy tensors",
    )
    add(
        *spellings("backend-name"),
        metavar="TEXT",
        default="TorchScript",
        help="with an empty text, generated headers are included in quotes; the name is TorchScript all the same, as "
        "in PyTorch's program",
    )
    add_input_arguments(parser)
    return parser


def _options(arguments: argparse.Namespace) -> Options:
    from opwright.backends.choices import BackendHeaders
    from opwright.emit.emitter import Options

    return Options(per_operator_headers=False, guests=(BackendHeaders(f"{arguments.output_dir}/"), _names(arguments)))


def _names(arguments: argparse.Namespace) -> LazyNames:
    from opwright.backends.choices import LazyNames

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
    return run_backend("gen_lazy_tensor", _parser().parse(argv), _options)


if __name__ == "__main__":
    leave(main)
