"""Generate `annotated_fn_args.py`; takes the arguments of PyTorch's `tools/autograd/gen_annotated_fn_args.py`."""

from __future__ import annotations

import argparse

from opwright.cli import session
from opwright.torchgen.autograd_paths import add_path_arguments

# What does the work is imported when there is work.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from opwright.build.record import Run
    from opwright.source.diagnostic import Diagnostics


def _run(arguments: argparse.Namespace, run: Run, sink: Diagnostics) -> int:
    from opwright.cli import console
    from opwright.generation import Generation, Request
    from opwright.release.inputs import from_files

    inputs = from_files(arguments.native_functions, arguments.tags, arguments.autograd)
    watched = session.watched_inputs(inputs)
    request = Request(
        inputs=inputs,
        folders={"testing": arguments.out},
        families=run.families,
    )
    session.write(Generation(request, sink), run, watched)
    return console.SUCCESS


def main(argv: Sequence[str] | None = None) -> int:
    """Run the program and return its exit status."""
    parser = argparse.ArgumentParser(prog="python -m opwright.torchgen.gen_annotated_fn_args", description=__doc__)
    add_path_arguments(parser)
    arguments = parser.parse_args(argv)
    run = session.run_of(
        "gen_annotated_fn_args", arguments, arguments.out, {"testing": arguments.out}, ("annotated",), apart=True
    )
    return session.run_unless_current(run, lambda sink: _run(arguments, run, sink))


if __name__ == "__main__":
    raise SystemExit(main())
