"""What a program's run has to do with earlier runs into the same folder: whether it is needed, and what it leaves.

`current_record` decides before anything heavy is imported; `write` does the work under the folder's lock.
"""

from __future__ import annotations

import contextlib
import os

from opwright.build.input_stamps import InputStamps
from opwright.build.manifest import Manifest, load_manifest, load_manifests, root_of, tool_identity, write_manifest
from opwright.build.runs import Run
from opwright.build.staging import remove_left_staging
from opwright.cli.color import AUTO, wants_color, without_color
from opwright.cli.streams import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

    from opwright.build.plain_files import Status
    from opwright.build.plan import PlannedFile
    from opwright.build.previous_build import PreviousBuild
    from opwright.build.staging import Journal
    from opwright.release.inputs import Inputs
    from opwright.run.generation import Generation, Outcome
    from opwright.run.request import Request
    from opwright.source.diagnostic import Diagnostics
    from opwright.source.text import SourceFile

__all__ = [
    "current_record",
    "loaded",
    "read_besides",
    "remember",
    "run_of",
    "run_unless_current",
    "stale_outputs",
    "turn_of",
    "watched_inputs",
    "write",
]


#: Arguments that change nothing about what is made.
_FORGOTTEN = frozenset(("check", "color", "dry_run", "jobs", "list_outputs", "prune", "watch", "yes"))


def run_of(
    program: str,
    arguments: argparse.Namespace,
    home: str,
    folders: Mapping[str, str],
    families: Iterable[str],
    *,
    apart: bool = False,
    **kind: object,
) -> Run:
    """The identity of a program's run: what it makes where, and every word of what it was asked for.

    With `apart` what it remembers stands outside of its output folder: the drop-in programs leave nothing there but
    what PyTorch's generator would.
    """
    values = vars(arguments)
    request = {
        "program": program,
        "working folder": os.getcwd(),
        "arguments": {name: value for name, value in values.items() if name not in _FORGOTTEN},
        "installed": _installed_torch() if _asks_for_installed(arguments) else None,
    }
    return Run(home, folders, families, kind, request, apart=apart, prunes=values["prune"])


def _asks_for_installed(arguments: argparse.Namespace) -> bool:
    values = vars(arguments)
    return "torch" in values and values["torch"] in (None, "auto") and values.get("source_path") is None


def _installed_torch() -> str | None:
    """Where the installed PyTorch's generator is, without importing it."""
    from importlib.util import find_spec

    try:
        spec = find_spec("torchgen")
    except (ImportError, ValueError):
        return None
    return spec.origin if spec is not None else None


def current_record(run: Run, color: str = AUTO) -> Manifest | None:
    """The record of an earlier run after which this one has nothing to do; what that one said is said again.

    `color` is a choice of `--color`.
    """
    remove_left_staging(run.state_folder, run.journal_top)
    record = load_manifest(run)
    if record is None or not record.is_current(run):
        return None
    if message := str(record.facts.get("said", "")):
        say(message if wants_color(color) else without_color(message))
    return record


def run_unless_current(run: Run, work: Callable[[Diagnostics], int]) -> int:
    """A program's exit status: that of its work, which is done only if an earlier run left anything to do."""
    if current_record(run) is not None:
        return 0
    from opwright.cli import console

    return console.run(work)


def read_besides(arguments: argparse.Namespace, folders: Mapping[str, str]) -> list[str]:
    """What a run reads besides the release's inputs: a selection file, and the headers of C shims that are kept."""
    files = [] if arguments.op_selection_yaml_path is None else [arguments.op_selection_yaml_path]
    if not arguments.update_aoti_c_shim:
        with contextlib.suppress(OSError, KeyError):
            aoti = folders["aoti"]
            files += [os.path.join(aoti, name) for name in os.listdir(aoti) if name.endswith(".h")]
    return files


def loaded(
    inputs: Inputs,
    families: Iterable[str],
    request: Callable[[], Request],
    sink: Diagnostics,
    jobs: int | None = None,
) -> Generation:
    """The generation of a request, which is made when all that it needs is imported.

    While that goes on, a second process reads the YAML that these families need, unless `jobs` allows but one.
    """
    from opwright.build.processes import usable_processes
    from opwright.source.ahead import reading_ahead

    several = usable_processes(jobs) > 1
    with reading_ahead(_readable(inputs, families)) if several else contextlib.nullcontext():
        from opwright.run.generation import Generation, import_modules

        import_modules(families)
        return Generation(request(), sink, later=True)


def _readable(inputs: Inputs, families: Iterable[str]) -> list[SourceFile]:
    """The YAML that these families need, without what cannot be read: the run itself tells that."""
    from opwright.dialects.table import yaml_names
    from opwright.emit.registry import dialects_of
    from opwright.source.diagnostic import Fault

    files = []
    for name in yaml_names(dialects_of(families)):
        with contextlib.suppress(Fault):
            files.append(inputs.read_text(name))
    return files


def stale_outputs(run: Run, targets: Collection[str]) -> set[str]:
    """The outputs of the last run of this kind that would be removed, for they are not among those made now."""
    from opwright.build import prune as pruning

    record = load_manifest(run)
    return set() if record is None else pruning.stale_outputs(run, record, load_manifests(run), targets)


def watched_inputs(inputs: Inputs, more_files: Iterable[str] = ()) -> InputStamps | None:
    """The state of a run's inputs, to be taken before they are read; None where they are not on this machine."""
    places = inputs.places()
    if places is None:
        return None
    return InputStamps.take([*places.files, *map(os.path.abspath, more_files)], places.folders)


@contextlib.contextmanager
def turn_of(run: Run) -> Iterator[Journal]:
    """A run's turn at its output folder, where what killed runs left is removed; gives the journal for its own."""
    from opwright.build.lock import FolderLock
    from opwright.build.prune import forget_gone_folders
    from opwright.build.staging import Journal

    state, top = run.state_folder, run.journal_top
    with FolderLock(state) as lock, Journal(state, top, locked=lock.is_held) as journal:
        yield journal
        forget_gone_folders(run)


def write(
    generation: Generation,
    run: Run,
    watched: InputStamps | None,
    *,
    report: Callable[[PlannedFile, bool], None] | None = None,
    jobs: int | None = None,
    add: Callable[[Outcome, Journal], Mapping[str, Status]] = lambda _, __: {},
    said: Mapping[str, str] | None = None,
) -> Outcome:
    """Write what differs, remove what is made no longer if the run prunes, and leave a record.

    `add` writes what a program makes besides, and gives the status of it; `said` is kept with the record's facts.
    """
    from opwright.build import prune as pruning
    from opwright.build.links import note_links
    from opwright.build.previous_build import BuildState, write_state
    from opwright.build.processes import usable_processes
    from opwright.build.staging import remove_old_staging

    with turn_of(run) as journal:
        record = load_manifest(run)
        folders = generation.request.folders.values()
        used = {path.rpartition("/")[0] for path in (record.outputs if record is not None else ())}
        remove_old_staging({*folders, *used})
        outcome = generation.write_after(_previous_build(run, record), report, usable_processes(jobs), journal)
        statuses = {**outcome.statuses, **add(outcome, journal)}
        note_links(run, statuses, generation.sink)
        stale = set() if record is None else pruning.stale_outputs(run, record, load_manifests(run), statuses)
        if run.prunes:
            pruning.prune(run, stale)
            stale.clear()
        if watched is not None:
            for path in _unkept_headers(statuses, generation.request.folders.get("aoti")):
                watched.files.setdefault(path, None)
            state = BuildState(tool_identity(), outcome.emitters)
            facts: dict[str, str | int] = {
                **(said or {}),
                "state": write_state(run, state),
                "operators": len(generation.job.catalog),
                "files": outcome.summary.files,
                "version": str(generation.version),
                "origin": generation.request.inputs.origin,
            }
            remember(generation, run, watched, statuses, facts, left=filter(os.path.lexists, stale))
    return outcome


def _previous_build(run: Run, manifest: Manifest | None) -> PreviousBuild | None:
    """The previous build, if the same tool made it."""
    from opwright.build.previous_build import PreviousBuild, load_state

    if manifest is None or manifest.tool != tool_identity():
        return None
    state = load_state(run, str(manifest.facts.get("state")))
    if state is None or state.tool != manifest.tool:
        return None
    return PreviousBuild(state.emitters, manifest.intact_outputs())


def _unkept_headers(outputs: Iterable[str], folder: str | None) -> list[str]:
    """The headers of C shims that are not there, so that nothing was compared with them; they may come."""
    if folder is None:
        return []
    root = os.path.realpath(folder)
    sources = [path for path in outputs if path.startswith(f"{root}/") and path.endswith(".cpp")]
    headers = [f"{path.removesuffix('.cpp')}.h" for path in sources]
    return [path for path in headers if path not in outputs and not os.path.exists(path)]


def remember(
    generation: Generation,
    run: Run,
    watched: InputStamps,
    statuses: Mapping[str, Status],
    facts: Mapping[str, str | int],
    left: Iterable[str] = (),
) -> None:
    """Leave a record of a run that has read all its inputs, and of the outputs that earlier runs `left`."""
    from opwright.build.writer import final_statuses

    said = ""
    if len(generation.sink):
        from opwright.source.render import render_report

        said = render_report(generation.sink.sorted(), color=True)
    watched.distrust_changed()
    outputs, others = _divided(run, final_statuses(statuses))
    record = Manifest(
        run.kind,
        run.request,
        tool_identity(),
        watched,
        outputs,
        {**facts, "said": said},
        others=others,
        kept=generation.kept_outputs(),
        left=left,
    )
    write_manifest(run, record)


def _divided(run: Run, statuses: Mapping[str, Status]) -> tuple[dict[str, Status], dict[str, Status]]:
    """The statuses of files in the run's output folders, and of those elsewhere."""
    folders = {path.rpartition("/")[0] for path in statuses}
    inside = {folder for folder in folders if root_of(run.roots, folder) is not None}
    outputs: dict[str, Status] = {}
    others: dict[str, Status] = {}
    for path, status in statuses.items():
        (outputs if path.rpartition("/")[0] in inside else others)[path] = status
    return outputs, others
