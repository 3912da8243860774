"""The entries of inputs that a run reads: those in its scope, without those that an earlier run kept for it."""

from __future__ import annotations

from opwright.build.kept_entries import load_entries, write_entries
from opwright.dialects.known_entries import KnownEntries
from opwright.dialects.table import DERIVATIVES, NATIVE_FUNCTIONS
from opwright.emit.registry import dialects_of
from opwright.source.diagnostic import Fault
from opwright.source.items import changed_items, chosen_items

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping
    from typing import Any, Final

    from opwright.build.runs import Run
    from opwright.dialects.dialect import Dialect
    from opwright.dialects.native_functions.scope import LoadScope
    from opwright.release.inputs import Inputs
    from opwright.run.generation import Generation
    from opwright.source.text import SourceFile

__all__ = ["EntryKeeper", "load_known"]

#: The dialects whose entries are kept. Each has one file.
_KEPT = (NATIVE_FUNCTIONS, DERIVATIVES)

_FEW = 16
"""As long as less than one in so many entries is new, the entries that are kept serve."""


def load_known(
    run: Run, tool: str, inputs: Inputs, names: Collection[str], scope: LoadScope | None = None
) -> dict[str, KnownEntries]:
    """The entries that an earlier run of the same tool kept, by the names of the dialects.

    Those are the dialects of all runs and those that are named. A file of which most entries changed is left out. With
    a scope, the entries of operators are only those in it.
    """
    known_entries: dict[str, KnownEntries] = {}
    for dialect in _KEPT:
        stored = load_entries(run, tool, dialect.name) if dialect.is_always_loaded or dialect.name in names else None
        choose = scope.choose if scope is not None and dialect is NATIVE_FUNCTIONS else None
        if stored is None and choose is None:
            continue
        context, rows = stored or ("", {})
        try:
            file = inputs.read_text(dialect.inputs[0])
        except Fault:
            # Loading reports it.
            continue
        items = changed_items(file, rows) if choose is None else chosen_items(file, rows, choose)
        if items is not None:
            known_entries[dialect.name] = KnownEntries(file, context, rows, items, is_partial=choose is not None)
    return known_entries


class EntryKeeper:
    """Keeps the entries that a run loaded, unless it knew most of them from an earlier run."""

    __slots__ = ("_generation", "_known", "_run", "_tool")

    def __init__(self, run: Run, tool: str, generation: Generation, known_entries: Mapping[str, KnownEntries]) -> None:
        self._run: Final = run
        self._tool: Final = tool
        self._generation: Final = generation
        self._known: Final = known_entries

    def keep_operators(self) -> None:
        """Keep the entries of operators."""
        from opwright.dialects.native_functions.entry_rows import context_text, entry_rows
        from opwright.model.dispatch_key import dispatch_keys

        catalog = self._generation.job.catalog
        context = context_text(catalog.tags, set(dispatch_keys()).difference(catalog.keys))
        self._keep(NATIVE_FUNCTIONS, context, lambda file: entry_rows(file, catalog.functions))

    def keep_derivatives(self) -> None:
        """Keep the entries of derivatives, if this process loaded them."""
        job, request = self._generation.job, self._generation.request
        if DERIVATIVES.name not in dialects_of(request.families) or not job.has_loaded_derivatives:
            return
        from opwright.dialects.derivatives.entry_rows import context_text, entry_rows

        derivatives = job.derivatives.file
        context = context_text(job.catalog, job.rules, request.inputs, strict=request.strict)
        self._keep(DERIVATIVES, context, lambda file: entry_rows(file, derivatives))

    def _keep(self, dialect: Dialect[Any], context: str, make_rows: Callable[[SourceFile], Mapping[str, str]]) -> None:
        known_entries = self._known.get(dialect.name)
        if known_entries is not None and known_entries.context == context:
            new = [text for _, text in known_entries.items.changed if text not in known_entries.rows]
            if len(new) * _FEW < len(known_entries.items.items):
                return
        file = self._generation.request.inputs.read_text(dialect.inputs[0])
        write_entries(self._run, self._tool, dialect.name, context, make_rows(file))
