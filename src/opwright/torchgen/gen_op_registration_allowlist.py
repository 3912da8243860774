"""Print root operators and all that they need; takes the flags of PyTorch's `gen_op_registration_allowlist.py`.

Prints one line: the names without overloads, sorted, with blanks between them."""

from __future__ import annotations

from opwright.cli.plain_words import text
from opwright.cli.streams import leave
from opwright.selective.graph import base_name, closure, graph_of
from opwright.torchgen.quick_program import QuickProgram, Result

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from opwright.cli.plain_words import Values
    from opwright.selective.files import Files

_OPTIONS = (
    text(
        "--op-dependency",
        metavar="FILE",
        help="the dependency graph; without it the root operators need nothing",
    ),
    text("--root-ops", metavar="FILE", help="a YAML list of the operators that models call", is_required=True),
)


def _work(values: Values, files: Files) -> Result:
    from opwright.selective.shapes import GRAPH, NAMES

    path = values["op_dependency"]
    graph = graph_of(files.value(str(path), GRAPH, "a dependency graph")) if path else {}
    roots = files.value(str(values["root_ops"]), NAMES, "a list of operators")
    assert isinstance(roots, list)
    return Result({}, " ".join(sorted(closure(graph, map(base_name, roots)))) + "\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the program and return its exit status."""
    return QuickProgram("gen_op_registration_allowlist", __doc__ or "", _OPTIONS, _work).run(argv)


if __name__ == "__main__":
    leave(main)
