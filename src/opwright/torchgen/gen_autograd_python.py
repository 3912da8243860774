"""Generate the C++ files of the Python bindings; the same bytes as PyTorch's `tools/autograd` writes for them."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from opwright.cli import console
from opwright.emit.emitter import Options
from opwright.generation import Generation, Request
from opwright.release.inputs import from_files
from opwright.source.diagnostic import Diagnostics
from opwright.torchgen.autograd_paths import add_path_arguments, templates_as_named


def _run(arguments: argparse.Namespace, sink: Diagnostics) -> int:
    request = Request(
        inputs=from_files(arguments.native_functions, arguments.tags, arguments.autograd),
        folders={"autograd": arguments.out},
        families=("python",),
        options=Options(autograd_templates=templates_as_named(arguments.autograd)),
    )
    Generation(request, sink).write()
    return console.SUCCESS


def main(argv: Sequence[str] | None = None) -> int:
    """Run the program and return its exit status."""
    parser = argparse.ArgumentParser(prog="python -m opwright.torchgen.gen_autograd_python", description=__doc__)
    add_path_arguments(parser)
    arguments = parser.parse_args(argv)
    return console.run(lambda sink: _run(arguments, sink))


if __name__ == "__main__":
    raise SystemExit(main())
