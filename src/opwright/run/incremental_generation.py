"""Runs one after the other into the same folder: from a request to files, as programs and users of the library go.

1. `current_manifest`: the manifest of the last run (`incremental/state.py`) says what it was asked for, what it read
   (`incremental/identity.py`) and what it wrote. If all of that is the same, there is nothing to do. This is decided
   before anything heavy is imported.
2. `write_edit`: if few entries changed in place (`incremental/changes.py`), these alone are loaded, as they were and as
   they are (`run/edits.py`), and their new texts take the place of the old ones in the files (`incremental/edit.py`).
3. `load`: otherwise the inputs become a job (`run/loading.py`), and this a `Generation`.
4. `write`: the files of its emitters are planned, rendered and written (`run/output_writer.py`), as far as they differ
   from what the last run left (`incremental/emitter_files.py`). Files that are no longer made are removed
   (`incremental/output_folders.py`).
5. `remember`: the next run gets a manifest, with what it needs for steps 2 and 4 (`incremental/previous_build.py`).
"""

from __future__ import annotations

import contextlib
import os
import re
import time
from functools import cache, partial

from opwright.files.staging import Journal, remove_left_staging, remove_old_staging
from opwright.incremental.identity import InputStamps, RunIdentity, tool_identity
from opwright.incremental.state import (
    Manifest,
    has_manifest,
    keep,
    kept_emitters,
    load_manifest,
    load_manifests,
    root_of,
    write_manifest,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
    from typing import Final

    from opwright.dialects.native_functions.scope import LoadScope
    from opwright.emit.emitter import Job
    from opwright.files.plain_files import Status
    from opwright.files.plan import PlannedFile
    from opwright.incremental.previous_build import PreviousBuild
    from opwright.release.inputs import Inputs
    from opwright.run.generation import Generation
    from opwright.run.output_writer import Outcome
    from opwright.run.request import Request
    from opwright.source.diagnostic import Diagnostics
    from opwright.source.items import ChosenItems
    from opwright.source.text import SourceFile

    WriteExtras = Callable[[Outcome, Journal | None], Mapping[str, Status]]


def generate(
    request: Request, out: str, *, jobs: int | None = None, prune: bool = True, sink: Diagnostics | None = None
) -> Outcome:
    """Bring the files of a request up to date, and reuse the work of earlier runs into the same folder.

    `out` is the folder that holds the output folders; the state for the next run is in `.opwright` below it. Runs into
    one `out` take turns. A run with nothing to do only compares time stamps, a run after an edit makes what the edit
    changed. Unless `prune` is false, files that an earlier run made and this one does not are removed. At most
    `jobs` processes share the work, by default as many as there are cores. `sink` gets warnings and notes.

    The other processes are forks of this one. If this process has other threads, it starts none and does all work
    itself, because a fork of a process with threads may hang.

    Raises FaultsFound with every fault of the inputs, Fault where they cannot be read, and OSError.

    >>> import opwright, tempfile
    >>> with tempfile.TemporaryDirectory() as out:
    ...     folders = opwright.build_folders(out)
    ...     request = opwright.Request(opwright.open_inputs(), folders, families=("declarations_yaml",))
    ...     [opwright.generate(request, out).summary.written for _ in range(2)]
    [1, 0]
    """
    from opwright.run.request import kind_facts, request_facts, run_plugins
    from opwright.source.diagnostic import Diagnostics

    started, plugins = time.perf_counter(), run_plugins()
    asked = {"program": "library", "working folder": os.getcwd(), **request_facts(request)}
    run = RunIdentity(out, request.folders, request.families, kind_facts(request), asked, prunes=prune)
    incremental = IncrementalGeneration(run, jobs=jobs)
    manifest = incremental.current_manifest()
    if manifest is not None:
        return _unchanged_outcome(manifest, started)
    sink = sink if sink is not None else Diagnostics()
    plugins.activate(request.plugins)
    more_files = [*[file.path for file in request.files], *plugins.sources(request.plugins)]
    more_files += files_in(request.templates)
    more_files += [] if request.options.update_c_shim else files_in(request.folders.get("aoti"), ".h")
    outcome = incremental.write_edit(request.inputs, lambda _: request, more_files)
    if outcome is None:
        generation = incremental.load(request.inputs, lambda _: request, sink, more_files)
        generation.check_shims()
        outcome = incremental.write(generation)
    return outcome._replace(stamps=incremental.stamps)


def _unchanged_outcome(manifest: Manifest, started: float) -> Outcome:
    from opwright.run.output_writer import Outcome, Summary

    files = int(manifest.facts["files"])
    report = without_color(str(manifest.facts["messages"]))
    summary = Summary(files, 0, files, time.perf_counter() - started)
    return Outcome(summary, dict(manifest.outputs), {}, {}, report, manifest.stamps)


def without_color(text: str) -> str:
    """A rendered text without its colours.

    >>> without_color("\\x1b[1;33mwarning\\x1b[0m: text")
    'warning: text'
    """
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


class IncrementalGeneration:
    """One run into its output folders. `jobs` is the largest number of processes that it uses, None for all cores.

    Unless it `keeps_state`, it reads only its inputs, and writes only its outputs.
    """

    __slots__ = ("facts", "job", "jobs", "keeps_state", "run", "seconds", "stamps")

    def __init__(self, run: RunIdentity, *, jobs: int | None = None, keeps_state: bool = True) -> None:
        self.run: Final = run
        self.jobs: Final = jobs
        self.keeps_state: Final = keeps_state
        self.seconds: Final[dict[str, float]] = {}
        """How long each stage took, in the order in which they ended."""
        self.facts: Mapping[str, str | int] = {}
        """The facts in the summary of the run, once it is written."""
        self.job: Job | None = None
        """What the run loaded; after an edit in place, the operations of the edit alone."""
        self.stamps: InputStamps | None = None
        """The state of the inputs before they were loaded; None where they are not on this machine."""

    @contextlib.contextmanager
    def _stage(self, name: str) -> Iterator[None]:
        started = time.perf_counter()
        yield
        self.seconds[name] = time.perf_counter() - started

    def current_manifest(self) -> Manifest | None:
        """Manifest of an earlier run that leaves this one nothing to do, or None."""
        remove_left_staging(self.run.state_folder, self.run.journal_top)
        manifest = load_manifest(self.run)
        return manifest if manifest is not None and manifest.is_current(self.run) else None

    def take_stamps(self, inputs: Inputs, more_files: Iterable[str]) -> None:
        """Take the stamps of the inputs, and of other files and folders that the run reads, before it reads them."""
        from opwright.dialects.table import member_names
        from opwright.emit.family import OWN_STUBS
        from opwright.emit.registry import dialects_of, family_inputs

        members = member_names(dialects_of(self.run.families))
        if OWN_STUBS in family_inputs(self.run.families):
            from opwright.run.loading import own_stub_paths

            members += own_stub_paths(inputs)
        paths = inputs.paths(members)
        if paths is not None:
            more = list(map(os.path.abspath, more_files))
            folders = list(filter(os.path.isdir, more))
            files = [path for path in more if path not in folders]
            self.stamps = InputStamps.take([*paths.files, *files], [*paths.folders, *folders])

    def _read_file(self, read: Callable[[str], SourceFile], path: str) -> SourceFile:
        """File at a path, whose stamp is taken before it is read. Raises Fault if it cannot be read."""
        if self.stamps is not None:
            self.stamps.add(os.path.abspath(path))
        return read(path)

    def write_edit(
        self,
        inputs: Inputs,
        request: Callable[[Diagnostics], Request],
        more_files: Iterable[str],
    ) -> Outcome | None:
        """Write what an edit of few entries changed since the last run, without loading the other operators.

        The parameters are those of `load`. None if all operators are needed, to make files or to report what is wrong;
        nothing is written then.
        """
        from opwright.emit.registry import has_local_units
        from opwright.source.diagnostic import Diagnostics

        if not self.keeps_state or not has_manifest(self.run) or not has_local_units(self.run.families):
            return None
        self.take_stamps(inputs, more_files)
        with self.turn() as journal:
            manifest = load_manifest(self.run)
            if manifest is None or self.stamps is None or manifest.tool != tool_identity():
                return None
            from opwright.incremental.changes import compare_inputs

            with self._stage("compare the inputs"):
                # The last run may have found out while it ran that it depends on more files.
                stamps = self.stamps.including(manifest.stamps.files)
                compared = compare_inputs(self.run, manifest, stamps, inputs)
            if compared is None:
                return None
            with self._stage("read the previous build"):
                previous = self._previous_build(manifest)
            if previous is None or len(previous.intact) < len(manifest.outputs):
                return None
            with self._stage("load the edit and write files"):
                from opwright.run.edits import write_edit
                from opwright.source.text import SourceFile

                edited = write_edit(compared, previous, request, partial(self._read_file, SourceFile.read), journal)
            if edited is None:
                return None
            self.job, outcome = edited
            self.stamps = stamps.including(self.stamps.files)
            with self._stage("write the state of the build"):
                self.facts = manifest.facts
                statuses = {**manifest.outputs, **manifest.others, **outcome.statuses}
                details = self._kept(outcome, inputs)
                self.remember(Diagnostics(), statuses, self.facts, manifest.source_outputs, details=details)
        files, written = int(self.facts["files"]), outcome.summary.written
        summary = outcome.summary._replace(files=files, unchanged=files - written)
        return outcome._replace(summary=summary, report=without_color(str(self.facts["messages"])))

    def load(
        self,
        inputs: Inputs,
        request: Callable[[Diagnostics], Request],
        sink: Diagnostics,
        more_files: Iterable[str] = (),
        scope: Callable[[], LoadScope] | None = None,
    ) -> Generation:
        """Load the inputs of a request; `request` is called with the sink after its modules are imported.

        `more_files` are files that the run reads and that are no inputs of the release. With a `scope`, it loads only
        the operators in it.
        """
        from opwright.emit.registry import takes_all_operators

        # Nothing is left of an attempt to load few operators but the stamps.
        self.seconds.clear()
        if self.keeps_state and self.stamps is None:
            self.take_stamps(inputs, more_files)
        families = self.run.families
        chosen = _items_in_scope(inputs, scope()) if scope is not None and takes_all_operators(families) else {}
        with self._stage("import modules"):
            from opwright.run.generation import Generation, import_modules

            import_modules(families)
        with self._stage("load and check inputs"):
            whole = request(sink)
            whole = whole._replace(read_file=partial(self._read_file, whole.read_file))
            generation = Generation(whole, sink, defer=True, chosen_items=chosen)
        self.job = generation.job
        return generation

    def write(
        self,
        generation: Generation,
        report: Callable[[PlannedFile, bool], None] | None = None,
        write_extras: WriteExtras | None = None,
        facts: Mapping[str, str] | None = None,
    ) -> Outcome:
        """Write the outputs that differ, remove stale ones if the run prunes, and leave a manifest.

        `report` is called for each file. `write_extras` writes a program's additional files, and gives their statuses.
        `facts` are kept in the manifest.
        """
        from opwright.incremental import output_folders as pruning
        from opwright.incremental.output_folders import note_links
        from opwright.source.child import usable_processes

        run = self.run
        if not self.keeps_state:
            outcome = generation.write_after(None, report, usable_processes(self.jobs))
            if write_extras is not None:
                write_extras(outcome, None)
            self.facts = run_facts(generation, outcome)
            return outcome
        with self.turn() as journal:
            manifest = load_manifest(run)
            used = {path.rpartition("/")[0] for path in (manifest.outputs if manifest is not None else ())}
            remove_old_staging({*generation.request.folders.values(), *used})
            if not run.apart:
                generation.keep_sources(frozenset() if manifest is None else {*manifest.outputs, *manifest.left})
            processes = usable_processes(self.jobs)
            with self._stage("read the previous build"):
                previous = self._previous_build(manifest)
            with self._stage("render and write files"):
                outcome = generation.write_after(previous, report, processes, journal)
            with self._stage("write what else is asked for"):
                extras = write_extras(outcome, journal) if write_extras is not None else {}
            self.facts = run_facts(generation, outcome)
            statuses = {**outcome.statuses, **extras}
            note_links(run, statuses, generation.sink)
            stale = set() if manifest is None else pruning.stale_outputs(run, manifest, load_manifests(run), statuses)
            if run.prunes:
                pruning.prune(run, stale)
                stale.clear()
            if self.stamps is not None:
                for path in _missing_headers(statuses, generation.request.folders.get("aoti")):
                    self.stamps.files.setdefault(path, None)
                with self._stage("write the state of the build"):
                    details, all_facts = self._kept(outcome, generation.request.inputs), {**(facts or {}), **self.facts}
                    left, sources = filter(os.path.lexists, stale), generation.source_outputs()
                    self.remember(generation.sink, statuses, all_facts, sources, left, details)
        return outcome

    @contextlib.contextmanager
    def turn(self) -> Iterator[Journal]:
        """Hold the output folder's lock; first remove what killed runs left there. Gives the journal of the run."""
        from opwright.files.lock import folder_lock
        from opwright.incremental.output_folders import forget_gone_folders

        state, top = self.run.state_folder, self.run.journal_top
        with folder_lock(state) as is_held, Journal(state, top, locked=is_held) as journal:
            yield journal
            forget_gone_folders(self.run)

    def stale_outputs(self, targets: Collection[str]) -> set[str]:
        """Outputs of the last run of this kind that would be removed, because this run does not make them."""
        from opwright.incremental import output_folders as pruning

        manifest = load_manifest(self.run)
        if manifest is None:
            return set()
        return pruning.stale_outputs(self.run, manifest, load_manifests(self.run), targets)

    def remember(
        self,
        sink: Diagnostics,
        statuses: Mapping[str, Status],
        facts: Mapping[str, str | int],
        source_outputs: Iterable[str] = (),
        left: Iterable[str] = (),
        details: bytes = b"",
    ) -> None:
        """Write the manifest, with the messages in the sink, or those in the facts if they are of an earlier run.

        `source_outputs` are outputs that belong to the sources, `left` those of earlier runs that this run neither
        makes nor removes, and `details` what the next run needs if it has something to do.

        Without stamps of the inputs there is no manifest, because the next run could not tell whether they changed.
        """
        from opwright.files.writer import final_statuses

        run, stamps = self.run, self.stamps
        if stamps is None:
            return
        messages: dict[str, str | int] = {"messages": "", "has messages with places": 0}
        if len(sink):
            from opwright.source.render import render_report

            reported = sink.sorted()
            has_places = any(diagnostic.span is not None for diagnostic in reported)
            messages = {"messages": render_report(reported, color=True), "has messages with places": int(has_places)}
        stamps.distrust_changed()
        find_root = cache(partial(root_of, run.roots))
        outputs: dict[str, Status] = {}
        others: dict[str, Status] = {}
        for path, status in final_statuses(statuses).items():
            (others if find_root(path.rpartition("/")[0]) is None else outputs)[path] = status
        manifest = Manifest(
            run.kind,
            run.request,
            tool_identity(),
            stamps,
            outputs,
            {**messages, **facts},
            others,
            frozenset(source_outputs),
            frozenset(left),
            details,
        )
        write_manifest(run, manifest)

    def _previous_build(self, manifest: Manifest | None) -> PreviousBuild | None:
        """The previous build, if the same tool made it."""
        from opwright.incremental.previous_build import PreviousBuild, decode_emitters

        if manifest is None or manifest.tool != tool_identity():
            return None
        emitters = decode_emitters(kept_emitters(manifest))
        return None if emitters is None else PreviousBuild(emitters, manifest.intact_outputs())

    def _kept(self, outcome: Outcome, inputs: Inputs) -> bytes:
        """What the next run needs beside the manifest, if it has something to do."""
        from opwright.incremental.changes import inputs_to_keep
        from opwright.incremental.previous_build import encode_emitters

        return keep(encode_emitters(outcome.emitters), inputs_to_keep(inputs, self.run.families))


def run_facts(generation: Generation, outcome: Outcome) -> dict[str, str | int]:
    """Facts in the summary of a run, which a later run with nothing to do prints again."""
    from opwright.release.version import shown_version

    inputs = generation.request.inputs
    return {
        "operators": len(generation.job.catalog),
        "files": outcome.summary.files,
        "version": shown_version(generation.version, generation.request.release or inputs.version_text),
        "origin": inputs.origin,
    }


def files_in(folder: str | None, ending: str = "") -> list[str]:
    """Files in a folder, of which a run reads some: own templates, or headers of C shims; none if there is none."""
    with contextlib.suppress(OSError):
        paths = [os.path.join(folder, name) for name in os.listdir(folder) if name.endswith(ending)] if folder else []
        return list(filter(os.path.isfile, paths))
    return []


def _items_in_scope(inputs: Inputs, scope: LoadScope) -> dict[str, ChosenItems]:
    """Entries of operators in a scope, by the name of their dialect; nothing if the file has to be read whole."""
    from opwright.dialects.table import NATIVE_FUNCTIONS
    from opwright.source.diagnostic import Fault

    with contextlib.suppress(Fault):
        items = scope.items(inputs.read_text(NATIVE_FUNCTIONS.inputs[0]))
        if items is not None:
            return {NATIVE_FUNCTIONS.name: items}
    # Loading reports a file that cannot be read.
    return {}


def _missing_headers(outputs: Iterable[str], folder: str | None) -> list[str]:
    """Missing headers of C shims; the next run must notice when they appear."""
    if folder is None:
        return []
    root = os.path.realpath(folder)
    sources = [path for path in outputs if path.startswith(f"{root}/") and path.endswith(".cpp")]
    headers = [f"{path.removesuffix('.cpp')}.h" for path in sources]
    return [path for path in headers if path not in outputs and not os.path.exists(path)]
