"""Generate autograd's C++ files; takes the arguments of PyTorch's `tools/autograd/gen_autograd.py`.

The bytes are the same. Two flags give what that program has only as arguments of a function: a selection of operators,
and no autograd at all."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence

from opwright.cli import console
from opwright.cli.arguments import selection
from opwright.emit.emitter import Options
from opwright.generation import Generation, Request
from opwright.release.inputs import from_files
from opwright.source.diagnostic import Diagnostics


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m opwright.torchgen.gen_autograd", description=__doc__)
    add = parser.add_argument
    add("native_functions", metavar="NATIVE", help="the path of native_functions.yaml")
    add("tags", metavar="TAGS", help="the path of tags.yaml")
    add("out", metavar="OUT", help="output folder")
    add("autograd", metavar="AUTOGRAD", help="the folder with derivatives.yaml and autograd's templates")
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


def templates_as_named(autograd: str) -> str:
    """What comments call the folder of autograd's templates: as seen from the package of PyTorch's generator.

    >>> templates_as_named("pytorch/tools/autograd"), templates_as_named("site/torchgen/packaged/autograd")
    ('../tools/autograd/templates', 'packaged/autograd/templates')
    """
    folder, name = os.path.split(os.path.abspath(autograd))
    parent = os.path.basename(folder)
    return f"packaged/{name}/templates" if parent == "packaged" else f"../{parent}/{name}/templates"


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
