"""Generate autograd's C++ files; takes the arguments of PyTorch's `tools/autograd/gen_autograd.py`.

The bytes are the same. Two flags give what that program has only as arguments of a function: a selection of operators,
and no autograd at all."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from opwright.cli import console
from opwright.cli.arguments import selection
from opwright.emit.emitter import Options
from opwright.generation import Generation, Request
from opwright.release.inputs import from_files
from opwright.source.diagnostic import Diagnostics
from opwright.torchgen.autograd_paths import add_path_arguments, templates_as_named


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m opwright.torchgen.gen_autograd", description=__doc__)
    add_path_arguments(parser)
    add = parser.add_argument
    add(
        "--operators-yaml-path",
        "--operators_yaml_path",
        dest="op_selection_yaml_path",
        metavar="FILE",
        help="a file that says which operators are wanted, and which of them for training",
    )
    add(
        "--disable-autograd",
        "--disable_autograd",
        action="store_true",
        help="leave out the kernels of autograd, of views and of tracing",
    )
    return parser


def _run(arguments: argparse.Namespace, sink: Diagnostics) -> int:
    arguments.op_registration_whitelist = None
    request = Request(
        inputs=from_files(arguments.native_functions, arguments.tags, arguments.autograd),
        folders={"autograd": arguments.out},
        families=("autograd",),
        options=Options(
            autograd_templates=templates_as_named(arguments.autograd), disable_autograd=arguments.disable_autograd
        ),
        selection=selection(arguments, sink),
        tolerant=True,
    )
    Generation(request, sink).write()
    return console.SUCCESS


def main(argv: Sequence[str] | None = None) -> int:
    """Run the program and return its exit status."""
    arguments = _parser().parse_args(argv)
    return console.run(lambda sink: _run(arguments, sink))


if __name__ == "__main__":
    raise SystemExit(main())
