"""Generate the C++ files of the Python bindings; writes the same bytes as PyTorch's `tools/autograd`."""

from __future__ import annotations

from opwright.cli.arguments import templates_as_named
from opwright.cli.streams import leave
from opwright.torchgen.programs import autograd_parser, run_families

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from opwright.run.request import Request
    from opwright.source.diagnostic import Diagnostics

_PROGRAM = "gen_autograd_python"


def _complete(arguments: argparse.Namespace, request: Request, _: Diagnostics) -> Request:
    from opwright.emit.emitter import Options
    from opwright.files.template import LAUNCHER

    templates = templates_as_named(arguments.autograd, apart=arguments.inputs_only)
    # PyTorch has no program that makes the bindings alone, so comments name its main one.
    return request._replace(options=Options(autograd_templates=templates, autograd_program=LAUNCHER))


def main(argv: Sequence[str] | None = None) -> int:
    """Run the program and return its exit status."""
    return run_families(_PROGRAM, autograd_parser(_PROGRAM, __doc__).parse(argv), _complete)


if __name__ == "__main__":
    leave(main)
