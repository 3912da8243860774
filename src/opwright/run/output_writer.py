"""Plans, renders and writes the files of emitters.

Three steps that know nothing of each other: a `Plan` gives each file its path, `EmitterFiles.render` makes its bytes,
and a `Writer` compares and writes. `OutputWriter` runs them over all files, one at a time, so that no more than one
file's text is held.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, TypeAlias

from opwright.files.plan import Plan, PlannedFile
from opwright.files.workers import MOST_TASKS, share_work
from opwright.files.writer import Writer, check_replaced
from opwright.source.diagnostic import Diagnostics, Fault, FaultsFound
from opwright.source.records import NamedTuple

if TYPE_CHECKING:
    from opwright.files.plain_files import Status
    from opwright.files.plan import FileSpec
    from opwright.files.staging import Journal
    from opwright.incremental.emitter_files import EmitterFiles, FragmentCounts
    from opwright.incremental.identity import InputStamps
    from opwright.incremental.previous_build import EmitterState, PreviousBuild
    from opwright.source.diagnostic import Diagnostic

Task: TypeAlias = "Callable[[], EmitterFiles]"
"""Gives the files of one emitter, in whichever process it is called. Raises Fault or FaultsFound."""

Report: TypeAlias = "Callable[[PlannedFile, bool], None]"
"""Hears of each file, and whether it differed from the disk."""


class Summary(NamedTuple):
    """What a run did: how many files it planned, wrote and found unchanged, and the seconds it took."""

    files: int
    written: int
    unchanged: int
    seconds: float


class Outcome(NamedTuple):
    """What a run did: the status of every output by path, the state of each emitter, and its fragment counts.

    A run that has nothing to do makes nothing; `report` then has the warnings of the run that did the work. After an
    edit in place it has those that are not about operators. `stamps` are those of the files that the run read, if the
    run keeps state.
    """

    summary: Summary
    statuses: Mapping[str, Status]
    emitters: Mapping[str, EmitterState]
    fragments: Mapping[str, FragmentCounts]
    report: str = ""
    stamps: InputStamps | None = None


class ProcessShare(NamedTuple):
    """What one process planned and staged: files, their statuses, how many differ, and what it knows of emitters."""

    planned: Sequence[PlannedFile]
    statuses: Mapping[str, Status]
    written: int
    states: Mapping[str, EmitterState]
    fragments: Mapping[str, FragmentCounts]
    faults: Sequence[Diagnostic]
    warnings: Sequence[Diagnostic]


class OutputWriter:
    """Plans, renders and writes the files of emitters.

    `folders` gives each output folder's name its path, and `sink` has the warnings of the run. `is_chosen` tells which
    files the run makes, None for all; the others do not exist for it. `format_file` gives the formatted bytes of the
    file at a path, and may raise Fault; runs with it have no previous build. If there is a `journal`, staging folders
    are noted in it. With `known_outputs`, no file besides these is replaced that does not say that it is generated.
    """

    __slots__ = ("_folders", "_format_file", "_fragments", "_is_chosen", "_sink", "_states", "journal", "known_outputs")

    def __init__(
        self,
        folders: Mapping[str, str | PathLike[str]],
        sink: Diagnostics,
        is_chosen: Callable[[FileSpec], bool] | None = None,
        format_file: Callable[[str, bytes], bytes] | None = None,
    ) -> None:
        self._folders = folders
        self._sink = sink
        self._is_chosen = is_chosen
        self._format_file = format_file
        self._states: dict[str, EmitterState] = {}
        self._fragments: dict[str, FragmentCounts] = {}
        self.journal: Journal | None = None
        self.known_outputs: Collection[str] | None = None

    def plan(self, tasks: Iterable[Task]) -> Plan:
        """Every file with its path; nothing is rendered. Raises FaultsFound with all faults."""
        plan, sink = Plan(self._folders), Diagnostics()
        for _ in self.plan_files(tasks, plan, sink):
            pass
        sink.raise_if_errors()
        return plan

    def rendered_files(self, tasks: Iterable[Task]) -> Iterator[tuple[PlannedFile, FileSpec, str | None, bytes | None]]:
        """Each file with its spec, the name of its template, and its bytes, once rendered; nothing is written.

        Raises FaultsFound with all faults of planning and rendering, after the last file.
        """
        sink = Diagnostics()
        for planned, files, spec in self.plan_files(tasks, Plan(self._folders), sink):
            yield planned, spec, files.emitter.template, self._render(files, spec, planned.target, None, sink)
        sink.raise_if_errors()

    def write(
        self,
        tasks: Iterable[Task],
        previous: PreviousBuild | None = None,
        report: Report | None = None,
        processes: int = 1,
    ) -> Outcome:
        """Write the files that differ from what is on disk, with the tasks shared by several processes.

        `report` hears of the files that this process makes, and not of the others'. Raises FaultsFound with all faults
        of planning and rendering, or with the first of writing; files that were there before the run are then as they
        were.
        """
        started, process, reported = time.perf_counter(), os.getpid(), len(self._sink)
        tasks = list(tasks)
        width = min(len(tasks), MOST_TASKS) if processes > 1 else 1

        def work(writer: Writer, taken: Iterator[int]) -> ProcessShare:
            own_tasks = (task for number in taken for task in tasks[number::width])
            share = self._stage(writer, own_tasks, previous, report if os.getpid() == process else None)
            return share._replace(warnings=self._sink.since(reported))

        def check(shares: Sequence[ProcessShare]) -> None:
            sink, plan = Diagnostics(), Plan(self._folders)
            for share in shares:
                sink.extend(share.faults)
                # Each process has planned its own files without those of the others.
                for planned in share.planned if len(shares) > 1 else ():
                    try:
                        plan.add(planned.emitter, planned.folder, planned.path)
                    except Fault as fault:
                        sink.add(fault.diagnostic)
            sink.raise_if_errors()

        try:
            shares = share_work(processes, range(width), work, check, self.journal)
        except Fault as fault:
            raise FaultsFound((fault.diagnostic,)) from None
        # The first share is of this process, whose warnings are in the sink.
        for share in shares[1:]:
            self._sink.extend(share.warnings)
        files, written = sum(len(share.planned) for share in shares), sum(share.written for share in shares)
        return Outcome(
            Summary(files, written, files - written, time.perf_counter() - started),
            {path: status for share in shares for path, status in share.statuses.items()},
            {name: state for share in shares for name, state in share.states.items()},
            {name: counts for share in shares for name, counts in share.fragments.items()},
        )

    def _stage(
        self, writer: Writer, tasks: Iterable[Task], previous: PreviousBuild | None, report: Report | None
    ) -> ProcessShare:
        """Hand the files of tasks to a writer, until there is a fault."""
        sink, plan = Diagnostics(), Plan(self._folders)
        written = 0
        statuses: dict[str, Status] = {}
        self._states, self._fragments = {}, {}
        for planned, files, spec in self.plan_files(tasks, plan, sink):
            data = self._render(files, spec, planned.target, previous, sink)
            if sink.has_errors:
                continue
            if data is None and previous is not None:
                statuses[planned.target] = previous.intact[planned.target]
            differs = data is not None and writer.write(planned.target, data)
            written += differs
            if report is not None:
                report(planned, differs)
        statuses = {**writer.statuses, **statuses}
        return ProcessShare(plan.outputs, statuses, written, self._states, self._fragments, sink.sorted(), ())

    def plan_files(
        self, tasks: Iterable[Task], plan: Plan, sink: Diagnostics
    ) -> Iterator[tuple[PlannedFile, EmitterFiles, FileSpec]]:
        """Each file with the files of its emitter and its spec; nothing is rendered.

        After a fault, which the sink gets, the next emitter has its turn.
        """
        for task in tasks:
            try:
                files = task()
                for spec in files.specs() if self._is_chosen is None else filter(self._is_chosen, files.specs()):
                    try:
                        planned = plan.add(files.emitter.name, spec.folder, spec.path)
                    except Fault as fault:
                        sink.extend(files.new_diagnostics(fault))
                    else:
                        yield planned, files, spec
                if files.spans:
                    self._states[files.name], self._fragments[files.name] = files.state(), files.fragment_counts()
            except (Fault, FaultsFound) as fault:
                sink.take(fault)

    def _render(
        self, files: EmitterFiles, spec: FileSpec, target: str, previous: PreviousBuild | None, sink: Diagnostics
    ) -> bytes | None:
        """Bytes of a file; None if the file on disk is up to date, or if there is a fault, which the sink gets."""
        try:
            before = None if previous is None else previous.file(files.name, spec.path, target)
            data = files.render(spec, before).data
            if data is not None and self._format_file is not None:
                data = self._format_file(target, data)
            if data is not None and self.known_outputs is not None and target not in self.known_outputs:
                check_replaced(target, data, "rename it, or name another folder with `--out`")
            return data
        except (Fault, FaultsFound) as fault:
            sink.extend(files.new_diagnostics(fault))
            return None
