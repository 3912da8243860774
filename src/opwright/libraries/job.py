"""Loads the job of a run for operator libraries."""

from __future__ import annotations

from typing import TYPE_CHECKING

from opwright.dialects.dialect import LoadContext
from opwright.emit.emitter import Job
from opwright.libraries.operator_library import RunLibraries
from opwright.model.catalog import Catalog
from opwright.model.dispatch_key import dispatch_keys
from opwright.run.loading import load_libraries, load_more

if TYPE_CHECKING:
    from collections.abc import Mapping

    from opwright.release.rules import Rules
    from opwright.run.request import Request
    from opwright.source.diagnostic import Diagnostics
    from opwright.source.items import ChosenItems


def load_library_job(request: Request, rules: Rules, sink: Diagnostics, _: Mapping[str, ChosenItems]) -> Job:
    """Job of a request for operator libraries, whose catalog has the operators of all of them."""
    libraries = RunLibraries(load_libraries(request, rules, sink))
    catalogs = [library.catalog for library in libraries.libraries]
    catalog = Catalog(
        tuple([function for part in catalogs for function in part.functions]),
        tuple([group for part in catalogs for group in part.groups]),
        tuple([group for part in catalogs for group in part.view_groups]),
        tuple(dispatch_keys()),
        catalogs[0].tags if catalogs else {},
        is_sound=all(part.is_sound for part in catalogs),
    )
    context = LoadContext(sink, rules, request.inputs, catalog, catalog.functions, read_file=request.read_file)
    more_inputs = load_more(request, context) if request.input_files else {}
    return Job(catalog, rules, request.options, request.selection, more_inputs=more_inputs, guests=(libraries,))
