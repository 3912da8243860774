"""Judge a kernel: accept or refuse a candidate by what the entry of a library file says.

  opwright accept acme.yaml::rms_norm candidate.py             a function in Python
  opwright accept acme.yaml::rms_norm kernels.py::fast_norm    of another name
  opwright accept acme.yaml::rms_norm candidate.cpp            a kernel in C++, or in CUDA, which is compiled
  opwright accept acme.yaml::rms_norm build/_C.so              operators of a shared object
  opwright accept acme.yaml::rms_norm acme                     operators of an installed package
  opwright accept acme.yaml::rms_norm candidate.py --seed 7 --format json

The entry names a reference, which computes in double precision in a process of its own. The candidate runs in others,
on arguments that are drawn from the seed once it is loaded.

Exit status: 0 accepted, 1 refused, 2 wrong usage, 3 undecided."""

from __future__ import annotations

import argparse
import sys
from typing import Final

from opwright.cli.arguments import not_empty, repeated
from opwright.source.terminal import print_document, print_rendered, say, visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from opwright.source.diagnostic import Diagnostics


#: The exit status where nothing can be judged.
_UNDECIDED: Final = 3


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("entry", metavar="ENTRY", type=not_empty, help="a library file and an operator: `acme.yaml::f`")
    parser.add_argument(
        "candidate",
        metavar="CANDIDATE",
        type=not_empty,
        help="a file of Python, C++ or CUDA, a shared object, or a package; `::name` after it names a function",
    )
    parser.add_argument("--seed", type=int, default=0, help="what calls are drawn from (default: 0)")
    parser.add_argument("--format", choices=("text", "json"), default="text", help="the form (default: text)")
    parser.add_argument(
        "--speed",
        metavar="OTHER",
        nargs="?",
        const="reference",
        help="measure the speed too, beside the reference or another candidate",
    )
    parser.add_argument(
        "--sanitize", action="store_true", help="build a candidate in C++ with AddressSanitizer too, and call that"
    )
    parser.add_argument("--seconds", type=float, default=60.0, help="the time for all checks (default: 60)")
    repeated(parser)(
        "--path",
        metavar="DIR",
        help="a folder with Python modules of the reference, beside that of the library file (may be repeated)",
        type=not_empty,
    )


def run(arguments: argparse.Namespace, sink: Diagnostics) -> int:
    """Print the verdict."""
    del sink
    if sys.platform != "linux":
        say("opwright accept: undecided: workers need Linux\n")
        return _UNDECIDED
    from opwright.libraries.judge.accept import Judge

    with Judge(arguments.entry, folders=tuple(arguments.path)) as judge:
        verdict = judge.accept(
            arguments.candidate,
            seed=arguments.seed,
            seconds=arguments.seconds,
            speed=arguments.speed,
            sanitize=arguments.sanitize,
        )
    if arguments.format == "json":
        print_document(f"{verdict.as_json()}\n")
    else:
        print_rendered(visible(f"{verdict}\n"))
    return verdict.status
