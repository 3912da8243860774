"""From the inputs of a selection to the selection, and to the report about it."""

from __future__ import annotations

import os

from opwright.dialects.selection import check_selection
from opwright.mobile.mobile_codes import NOT_IN_GRAPH, NOTHING_SELECTED
from opwright.mobile.selective.files import Files
from opwright.mobile.selective.graph import base_name, graph_of
from opwright.mobile.selective.inputs import COMMAND_LINE, SelectionInput, close, read_input, selection_of_roots
from opwright.mobile.selective.merging import union_of
from opwright.mobile.selective.reports import SelectionReport, selection_report
from opwright.mobile.selective.shapes import GRAPH
from opwright.model.selection import Selection
from opwright.release.tree import rules_of
from opwright.run.loading import load_job, with_libraries
from opwright.run.request import Request
from opwright.source.diagnostic import Diagnostics
from opwright.source.records import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from opwright.mobile.selective.graph import Graph


class SelectRequest(NamedTuple):
    """What a selection is made from.

    `paths` are input files and `names` root operators. `graph` is the path of a dependency graph. `training` tells that
    root operators without flags of their own are for training. `catalog` is where the operators come from.
    """

    paths: tuple[str, ...]
    names: tuple[str, ...]
    catalog: Request
    graph: str | None = None
    training: bool = False

    @property
    def files(self) -> tuple[str, ...]:
        """Files that a selection reads besides the release's inputs."""
        graphs = () if self.graph is None else (self.graph,)
        return (*self.paths, *graphs, *[file.path for file in self.catalog.files])


class SelectionOutcome(NamedTuple):
    """A selection, and the report about it."""

    selection: Selection
    report: SelectionReport


def select_operators(request: SelectRequest, sink: Diagnostics) -> SelectionOutcome:
    """Union of all inputs, closed over the graph. Raises FaultsFound with all mistakes in them."""
    files = Files(sink)
    graph: Graph = graph_of(files.value(request.graph, GRAPH, "a dependency graph")) if request.graph else {}
    inputs = [read_input(path, files, graph, training=request.training) for path in request.paths]
    if request.names:
        names = selection_of_roots(dict.fromkeys(request.names), COMMAND_LINE, training=request.training)
        inputs.append(SelectionInput(COMMAND_LINE, "names", names))
    sink.raise_if_errors()
    union = union_of([each.selection for each in inputs])
    if not union.operators and not union.everything:
        files.warn(NOTHING_SELECTED, "the inputs select no operator")
    needed_by: dict[str, str] = {}
    roots = union
    if request.graph:
        union, needed_by = close(union, graph, request.graph, files)
    rules = rules_of(request.catalog.inputs, request.catalog.release, sink)
    catalog = with_libraries(load_job(request.catalog, rules, sink, {}), request.catalog, sink).catalog
    check_selection(union, catalog, sink)
    sink.raise_if_errors()
    if request.graph:
        _check_roots(roots, graph, request.graph, files)
    return SelectionOutcome(union, selection_report(union, inputs, needed_by, catalog))


def _check_roots(selection: Selection, graph: Graph, path: str, files: Files) -> None:
    nodes = {*graph, *[name for dependencies in graph.values() for name in dependencies]}
    for operator in selection.operators.values():
        if operator.is_root and base_name(operator.name) not in nodes:
            name = os.path.basename(path)
            message = f"the dependency graph `{name}` does not know the root operator `{operator.name}`"
            files.sink.warning(NOT_IN_GRAPH, message, operator.span)
