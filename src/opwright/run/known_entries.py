"""The entries of `native_functions.yaml` that a run keeps, so that the next run reads only those that changed."""

from __future__ import annotations

from opwright.build.kept_entries import load_entries, write_entries
from opwright.dialects.native_functions.known_entries import KnownEntries
from opwright.source.diagnostic import Fault
from opwright.source.items import changed_items

TYPE_CHECKING = False
if TYPE_CHECKING:
    from opwright.build.runs import Run
    from opwright.release.inputs import Inputs
    from opwright.run.generation import Generation

__all__ = ["keep_entries", "load_known"]

_FEW = 16
"""As long as less than one in so many entries is new, the entries that are kept serve."""


def load_known(run: Run, tool: str, inputs: Inputs) -> KnownEntries | None:
    """The entries that an earlier run of the same tool kept; None if there are none, or most have changed."""
    stored = load_entries(run, tool)
    if stored is None:
        return None
    context, rows = stored
    try:
        file = inputs.read_text("native/native_functions.yaml")
    except Fault:
        # Loading reports it.
        return None
    items = changed_items(file, rows)
    return KnownEntries(file, context, rows, items) if items is not None else None


def keep_entries(run: Run, tool: str, generation: Generation, known_entries: KnownEntries | None) -> None:
    """Keep the entries that a run loaded, unless it knew most of them from an earlier run."""
    from opwright.dialects.native_functions.entry_rows import context_text, entry_rows
    from opwright.model.dispatch_key import dispatch_keys

    catalog = generation.job.catalog
    context = context_text(catalog.tags, set(dispatch_keys()).difference(catalog.keys))
    if known_entries is not None and known_entries.context == context:
        new = [text for _, text in known_entries.items.changed if text not in known_entries.rows]
        if len(new) * _FEW < len(known_entries.items.items):
            return
    file = generation.request.inputs.read_text("native/native_functions.yaml")
    write_entries(run, tool, context, entry_rows(file, catalog.functions))
