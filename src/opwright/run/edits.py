"""Runs after an edit that changed few entries: they load only the operations of these entries.

Most edits change an entry in place: a default, a kernel, a formula. Then the files of the previous build are right but
for the units of a few operators. Such a run compares the inputs with their texts as the last run read them, loads the
operations of the entries that changed as they were and as they are, and has `EditedFiles` put the units of the one in
place of those of the other. It is one process, and takes time in proportion to the edit.

Wherever that may not give what a run with all operators gives, there is no such run: after other changes of the inputs
or of the outputs, after a run with messages, for families whose units may hold functions of several operations, and if
loading or rendering finds any fault. A run with all operators then does the work, and reports the faults.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from opwright.emit.aten.c_shim import headers
from opwright.emit.registry import families_with
from opwright.incremental.changes import find_edit
from opwright.incremental.edit import NotLocal
from opwright.model.catalog import PartialCatalog
from opwright.release.tree import rules_of
from opwright.run.generation import Generation
from opwright.run.loading import check_job, load_deferred_dialects, load_job
from opwright.source.diagnostic import Diagnostics, Fault, FaultsFound

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from opwright.emit.emitter import Job
    from opwright.files.staging import Journal
    from opwright.incremental.changes import ComparedFile
    from opwright.incremental.previous_build import PreviousBuild
    from opwright.run.output_writer import Outcome
    from opwright.run.request import Request
    from opwright.source.text import SourceFile


def write_edit(
    files: Sequence[ComparedFile],
    previous: PreviousBuild,
    make_request: Callable[[Diagnostics], Request],
    read_file: Callable[[str], SourceFile],
    journal: Journal,
) -> tuple[Job, Outcome] | None:
    """Write the outputs that an edit changed, and give the operations that it loaded and what it did.

    None, and nothing is written, if that needs all operators.
    """
    edit = find_edit(files, {name for state in previous.emitters.values() for name in state.depends_on})
    sink = Diagnostics()
    request = make_request(sink)._replace(read_file=read_file)
    if edit is None or request.plugins or request.format_file is not None or request.options.update_c_shim:
        return None
    rules = rules_of(request.inputs, request.release, sink, are_written=True)
    try:
        before, job = (load_job(request, rules, sink, entries) for entries in edit)
        check_job(job, request, sink)
        load_deferred_dialects(job, request, sink, defer=False)
        # An entry of a file with anchors may depend on any other.
        has_anchors = any(entries.file.has_anchors for part in edit for entries in part.values())
        # A run compares whole headers of C shims with those on disk.
        has_shims = not set(request.families).isdisjoint(families_with("aoti"))
        if len(sink) or has_anchors or (has_shims and dict(headers(before)) != dict(headers(job))):
            return None
        return job, Generation(request, sink, job=job).write_edit(before, previous, journal)
    except (PartialCatalog, NotLocal, Fault, FaultsFound):
        return None
