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
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from opwright.files.marks import check_replaced
from opwright.files.plan import Plan, PlannedFile
from opwright.files.workers import MOST_TASKS, share_work
from opwright.files.writer import Writer, file_holds
from opwright.source.diagnostic import Diagnostics, Fault, FaultsFound
from opwright.source.records import NamedTuple

if TYPE_CHECKING:
    from opwright.files.plain_files import Status
    from opwright.files.plan import FileSpec
    from opwright.files.staging import Journal
    from opwright.incremental.emitter_files import EmitterFiles
    from opwright.incremental.previous_build import PreviousBuild
    from opwright.source.diagnostic import Diagnostic

Note = TypeVar("Note")

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


class StagedFiles(NamedTuple):
    """What one process planned and staged: files, the status of each, and how many of them differ from the disk."""

    planned: Sequence[PlannedFile]
    statuses: Mapping[str, Status]
    written: int


def _summary(shares: Sequence[StagedFiles], started: float) -> Summary:
    files, written = sum(len(share.planned) for share in shares), sum(share.written for share in shares)
    return Summary(files, written, files - written, time.perf_counter() - started)


class OutputWriter:
    """Plans, renders and writes the files of emitters.

    `folders` gives each output folder's name its path. `is_chosen` tells which files the run makes, None for all; the
    others do not exist for it. `format_file` gives the formatted bytes of the file at a path, and may raise Fault; runs
    with it have no previous build. If there is a `journal`, staging folders are noted in it. With `known_outputs`, no
    file besides these is replaced that does not say that it is generated.
    """

    __slots__ = ("_folders", "_format_file", "_is_chosen", "journal", "known_outputs")

    def __init__(
        self,
        folders: Mapping[str, str | PathLike[str]],
        is_chosen: Callable[[FileSpec], bool] | None = None,
        format_file: Callable[[str, bytes], bytes] | None = None,
    ) -> None:
        self._folders = folders
        self._is_chosen = is_chosen
        self._format_file = format_file
        self.journal: Journal | None = None
        self.known_outputs: Collection[str] | None = None

    def plan(self, tasks: Iterable[Task]) -> Plan:
        """Every file with its path; nothing is rendered. Raises FaultsFound with all faults."""
        plan = Plan(self._folders)
        for _ in self.planned_files(tasks, plan):
            pass
        return plan

    def planned_files(
        self, tasks: Iterable[Task], plan: Plan | None = None
    ) -> Iterator[tuple[PlannedFile, EmitterFiles, FileSpec]]:
        """Each file with the files of its emitter and its spec; nothing is rendered.

        Raises FaultsFound with all faults, after the last file.
        """
        sink = Diagnostics()
        yield from self._plan_files(tasks, Plan(self._folders) if plan is None else plan, sink)
        sink.raise_if_errors()

    def render_files(self, tasks: Iterable[Task]) -> Iterator[tuple[PlannedFile, FileSpec, str | None]]:
        """Each file with its spec and the name of its template, once it is rendered; nothing is written.

        Raises FaultsFound with all faults of planning and rendering.
        """
        sink = Diagnostics()
        for planned, files, spec in self._plan_files(tasks, Plan(self._folders), sink):
            self._render(files, spec, planned.target, None, sink)
            yield planned, spec, files.emitter.template
        sink.raise_if_errors()

    def differing(self, tasks: Iterable[Task]) -> list[str]:
        """Paths of the files that are not on disk with the bytes that they should have.

        Raises FaultsFound with all faults of planning and rendering.
        """
        sink = Diagnostics()
        differing = []
        for planned, files, spec in self._plan_files(tasks, Plan(self._folders), sink):
            data = self._render(files, spec, planned.target, None, sink)
            if data is not None and not file_holds(planned.target, data):
                differing.append(planned.target)
        sink.raise_if_errors()
        return differing

    def write(
        self,
        tasks: Iterable[Task],
        statuses: dict[str, Status],
        previous: PreviousBuild | None = None,
        report: Report | None = None,
    ) -> Summary:
        """Write the files that differ from what is on disk. `statuses` gets the status of every file, by its path.

        Raises FaultsFound with all faults of planning and rendering, or with the first of writing; files that were
        there before the run are then as they were.
        """
        started = time.perf_counter()
        sink = Diagnostics()
        staged: StagedFiles | None = None
        try:
            with Writer(self.journal) as writer:
                staged = self._stage(writer, tasks, sink, previous, report)
                sink.raise_if_errors()
        except Fault as fault:
            sink.add(fault.diagnostic)
        sink.raise_if_errors()
        assert staged is not None
        statuses.update(staged.statuses)
        return _summary([staged], started)

    def _stage(
        self,
        writer: Writer,
        tasks: Iterable[Task],
        sink: Diagnostics,
        previous: PreviousBuild | None,
        report: Report | None,
    ) -> StagedFiles:
        """Hand the files to a writer; faults of planning and rendering go to the sink."""
        plan = Plan(self._folders)
        written = 0
        statuses: dict[str, Status] = {}
        for planned, files, spec in self._plan_files(tasks, plan, sink):
            data = self._render(files, spec, planned.target, previous, sink)
            if sink.has_errors:
                continue
            if data is None and previous is not None:
                statuses[planned.target] = previous.intact[planned.target]
            differs = data is not None and writer.write(planned.target, data)
            written += differs
            if report is not None:
                report(planned, differs)
        return StagedFiles(plan.outputs, {**writer.statuses, **statuses}, written)

    def write_shared(
        self,
        processes: int,
        tasks: Sequence[Task],
        notes: Callable[[], Note],
        previous: PreviousBuild | None,
        report: Report | None,
    ) -> tuple[Summary, dict[str, Status], list[Note]]:
        """Write files as `write` does, with the tasks shared by several processes, and give the status of each file.

        `notes` is called in each process when its tasks are done; the results of all processes are returned. `report`
        hears of the files that this process makes, and not of the others'.
        """
        started = time.perf_counter()
        width = min(len(tasks), MOST_TASKS)
        process = os.getpid()

        def work(writer: Writer, taken: Iterator[int]) -> tuple[StagedFiles, Sequence[Diagnostic], Note]:
            sink = Diagnostics()
            own_tasks = (task for number in taken for task in tasks[number::width])
            staged = self._stage(writer, own_tasks, sink, previous, report if os.getpid() == process else None)
            return staged, sink.sorted(), notes()

        def check(results: Sequence[tuple[StagedFiles, Sequence[Diagnostic], Note]]) -> None:
            sink = Diagnostics()
            plan = Plan(self._folders)
            for staged, diagnostics, _ in results:
                sink.extend(diagnostics)
                for planned in staged.planned:
                    try:
                        plan.add(planned.emitter, planned.folder, planned.path)
                    except Fault as fault:
                        sink.add(fault.diagnostic)
            sink.raise_if_errors()

        try:
            results = share_work(processes, range(width), work, check, self.journal)
        except Fault as fault:
            raise FaultsFound((fault.diagnostic,)) from None
        statuses = {path: status for staged, _, _ in results for path, status in staged.statuses.items()}
        return _summary([staged for staged, _, _ in results], started), statuses, [note for _, _, note in results]

    def _plan_files(
        self, tasks: Iterable[Task], plan: Plan, sink: Diagnostics
    ) -> Iterator[tuple[PlannedFile, EmitterFiles, FileSpec]]:
        """Each file with its path, one by one. After a fault of an emitter the next emitter has its turn."""
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
                files.finish()
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
