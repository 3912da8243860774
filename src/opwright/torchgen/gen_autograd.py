"""Generate autograd's C++ files; takes the arguments of PyTorch's `tools/autograd/gen_autograd.py`.

It writes the same bytes. Two flags offer what that program offers only as function arguments: a selection of operators,
and a build without autograd."""

from __future__ import annotations

from opwright.cli.arguments import Parser, program_as_named, selection, spellings, templates_as_named
from opwright.cli.streams import leave
from opwright.torchgen.programs import autograd_parser, run_families

# Modules that do the work are imported only if there is work.
TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence
    from typing import Final

    from opwright.run.request import Request
    from opwright.source.diagnostic import Diagnostics

_PROGRAM: Final = "gen_autograd"


def _parser() -> Parser:
    parser = autograd_parser(_PROGRAM, __doc__)
    add = parser.add_argument
    add(
        *spellings("operators-yaml-path"),
        dest="op_selection_yaml_path",
        metavar="FILE",
        help="a YAML file that selects operators, and which of them are for training",
    )
    add(
        *spellings("disable-autograd"),
        action="store_true",
        help="omit the kernels of autograd, of views and of tracing",
    )
    return parser


def _complete(arguments: argparse.Namespace, request: Request, sink: Diagnostics) -> Request:
    from opwright.emit.emitter import Options

    options = Options(
        autograd_templates=templates_as_named(arguments.autograd, apart=arguments.inputs_only),
        autograd_program=program_as_named(arguments.autograd, "gen_autograd.py"),
        disable_autograd=arguments.disable_autograd,
    )
    arguments.op_registration_whitelist = None
    return request._replace(options=options, selection=selection(arguments, sink), tolerant=True)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the program and return its exit status."""
    arguments = _parser().parse(argv)
    chosen: str | None = arguments.op_selection_yaml_path
    return run_families(_PROGRAM, arguments, _complete, more_files=() if chosen is None else (chosen,))


if __name__ == "__main__":
    leave(main)
