"""Print root operators and all that they need; takes the flags of PyTorch's `gen_op_registration_allowlist.py`.

Prints one line: the names without overloads, sorted, with blanks between them."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from opwright.cli.streams import leave
from opwright.mobile.selective.files import Files
from opwright.mobile.selective.graph import base_name, closure, graph_of
from opwright.mobile.selective.shapes import GRAPH, NAMES
from opwright.torchgen.selective_program import Program, Result


def _declare(add: Callable[..., object]) -> None:
    add(
        "--op-dependency",
        metavar="FILE",
        help="the dependency graph; without it the root operators need nothing",
    )
    add("--root-ops", metavar="FILE", help="a YAML list of the operators that models call", required=True)


def _work(arguments: argparse.Namespace, files: Files) -> Result:
    path = arguments.op_dependency
    graph = graph_of(files.value(path, GRAPH, "a dependency graph")) if path else {}
    roots = files.value(arguments.root_ops, NAMES, "a list of operators")
    assert isinstance(roots, list)
    return Result({}, " ".join(sorted(closure(graph, map(base_name, roots)))) + "\n")


main = Program("gen_op_registration_allowlist", __doc__, _declare, _work)


if __name__ == "__main__":
    leave(main)
