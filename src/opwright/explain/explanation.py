"""Makes explanations of overloads."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from opwright.explain.dispatch import dispatch_records
from opwright.explain.gradients import derivative_record
from opwright.explain.loading import Explained
from opwright.explain.names import qualified_name
from opwright.explain.python_calls import python_records
from opwright.explain.records import SECTIONS, Explanation
from opwright.explain.schemas import operation_record, place_of, schema_record
from opwright.explain.signatures import signature_records
from opwright.explain.symbols import planned_symbols, written_symbols
from opwright.model.native_function import NativeFunction

if TYPE_CHECKING:
    from opwright.build.provenance import FileOrigin

__all__ = ["explain"]


def explain(
    function: NativeFunction,
    explained: Explained,
    sections: Collection[str] = tuple(SECTIONS),
    origins: Mapping[str, FileOrigin] | None = None,
) -> Explanation:
    """The explanation of an overload, with these sections.

    `origins` are those of the files of an output folder, None if there is none: then symbols have no lines.
    """
    names = (member.name.text for member in explained.job.catalog.functions if member.name.name == function.name.name)
    explanation = Explanation(
        qualified_name(function),
        str(function.schema),
        str(explained.job.rules.version),
        place_of(function),
        function.is_synthesized,
        tuple([name for name in names if name != function.name.text]),
    )
    for section in sections:
        explanation = _add_section(explanation, section, function, explained, origins)
    return explanation


def _add_section(
    explanation: Explanation,
    section: str,
    function: NativeFunction,
    explained: Explained,
    origins: Mapping[str, FileOrigin] | None,
) -> Explanation:
    """The explanation with a further section. Each imports what it needs when it is asked for."""
    job = explained.job
    match section:
        case "schema":
            return explanation._replace(roles=schema_record(function))
        case "operation":
            return explanation._replace(operation=operation_record(function))
        case "dispatch":
            return explanation._replace(dispatch=dispatch_records(function, job))
        case "signatures":
            return explanation._replace(signatures=signature_records(function, job))
        case "derivative":
            return explanation._replace(derivative=derivative_record(function, job))
        case "python":
            return explanation._replace(python=python_records(function, job))
        case "symbols":
            symbols = planned_symbols(function, job, explained.families) if origins is None else None
            return explanation._replace(symbols=symbols or written_symbols(function, origins or {}))
    raise ValueError(f"no section {section}")
