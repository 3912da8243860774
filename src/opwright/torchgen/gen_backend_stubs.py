"""Generate the code around an external backend's kernels; takes the flags of `python -m torchgen.gen_backend_stubs`.

It writes the same bytes. The operators are those of the installed PyTorch, unless a flag names another one."""

from __future__ import annotations

import argparse

from opwright.cli.arguments import Parser
from opwright.cli.streams import leave
from opwright.torchgen.lazy_attributes import lazy_attributes
from opwright.torchgen.programs import add_file_arguments, add_input_arguments, run_backend

# Modules that do the work are imported only if there is work.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from opwright.emit.emitter import Options


# Type checkers take a module that has this function for one that has every attribute.
if not TYPE_CHECKING:
    __getattr__ = lazy_attributes("backends")


def _parser() -> Parser:
    parser = Parser("python -m opwright.torchgen.gen_backend_stubs", __doc__, last_wins=True)
    add_file_arguments(parser, "the C++ file with the kernels, to report kernels that it does not define")
    add_input_arguments(parser)
    return parser


def _options(arguments: argparse.Namespace) -> Options:
    from opwright.backends.choices import BackendHeaders
    from opwright.emit.emitter import Options

    return Options(guests=(BackendHeaders(f"{arguments.output_dir}/"),))


def main(argv: Sequence[str] | None = None) -> int:
    """Run the program and return its exit status."""
    return run_backend("gen_backend_stubs", _parser().parse(argv), _options)


if __name__ == "__main__":
    leave(main)
