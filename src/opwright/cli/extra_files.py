"""Files that programs write besides the outputs: where they may be, dependency files of drop-in programs, stamps."""

from __future__ import annotations

import os
import stat

from opwright.cli.depfile import dependencies, make_rule
from opwright.files.plain_files import real_folder, real_path
from opwright.files.staging import remove_old_staging
from opwright.files.writer import Writer, check_links, make_folder, write_fault, write_file
from opwright.incremental.identity import input_files
from opwright.incremental.state import load_manifest
from opwright.source.codes import OVERWRITES
from opwright.source.diagnostic import Fault

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Mapping

    from opwright.incremental.identity import RunIdentity
    from opwright.run.generation import Generation
    from opwright.run.incremental_generation import IncrementalGeneration
    from opwright.source.diagnostic import Diagnostics


def write_stamp(path: str | None, out: str) -> None:
    """Touch the file by which build systems know when the last run into a folder was.

    Raises Fault (E0607) for a path behind a link that `check_folders` refuses.
    """
    if path is not None:
        check_folders([path], out)
        touch_file(path)


def touch_file(path: str) -> None:
    """Set the time of a file to now. A missing file is made, with its folder.

    Raises Fault (E0605 to E0608) as `Writer` does.
    """
    try:
        if stat.S_ISREG(os.lstat(path).st_mode):
            os.utime(path)
            return
    except FileNotFoundError:
        make_folder(os.path.dirname(path))
    except OSError as error:
        raise write_fault(path, error) from None
    write_file(path, b"")


def check_folders(files: Iterable[str], out: str) -> None:
    """Check that no link on the way to one of the files leads out of its folder, but those on the way to `out`.

    A link in the place of a file is no fault: the file replaces it. Raises Fault (E0607).
    """
    for path in files:
        check_links(os.path.dirname(path), [out])


def check_overwrites(
    files: Iterable[tuple[str, str]], generation: Generation, run: RunIdentity | None, inputs: Iterable[str]
) -> None:
    """Check that files, each given with its flag, have paths that the run does not use otherwise.

    Raises Fault (E0613) for the path of an input, an output, another of these files, or the state of the `run`.
    """
    named = [(flag, path, real_path(path)) for flag, path in files]
    folders = tuple(f"{real_folder(folder)}/" for folder in generation.request.folders.values())
    taken: dict[str, str] = {}
    if any(real.startswith(folders) for _, _, real in named):
        taken = dict.fromkeys([planned.target for planned in generation.plan().outputs], "one of the run's outputs")
    for path in inputs if named else ():
        taken[real_path(path)] = taken[os.path.realpath(path)] = "an input of the run"
    state = None if run is None else f"{real_folder(run.state_folder)}/"
    for flag, path, real in named:
        is_state = state is not None and real.startswith(state)
        what = "in the state folder of Opwright" if is_state else taken.get(real)
        if what is not None:
            raise Fault.at(OVERWRITES, f"`{flag}` names `{path}`, which is {what}", help="give it a name of its own")
        taken[real] = f"what `{flag}` names too"


def write_for_build(arguments: argparse.Namespace, run: RunIdentity) -> None:
    """Write the dependency file and the stamp of a drop-in program, from what its run left for the next one.

    The rule names the stamp, or else all outputs; and what they depend on: the inputs, and Opwright's files, so
    that a build with another Opwright runs it again.

    Raises Fault for a path that a dependency file cannot contain (E0612), for that of an input or output (E0613), and
    for one behind a link (E0607).
    """
    manifest = load_manifest(run)
    # A run that wrote nothing leaves nothing, and then the build has nothing to know.
    if arguments.depfile is not None and manifest is not None:
        inputs, target = input_files(manifest.stamps), real_path(arguments.depfile)
        if target in manifest.outputs or target in manifest.others or target in map(real_path, inputs):
            message = f"`--depfile` names `{arguments.depfile}`, which the run reads or writes"
            raise Fault.at(OVERWRITES, message, help="give it a name of its own")
        targets = sorted(manifest.outputs) if arguments.stamp is None else [arguments.stamp]
        check_folders([arguments.depfile], run.home)
        with Writer() as writer:
            writer.write(target, make_rule(targets, dependencies(manifest.stamps)))
    write_stamp(arguments.stamp, run.home)


def write_texts(
    incremental: IncrementalGeneration,
    texts: Mapping[str, str],
    sink: Diagnostics,
    facts: Mapping[str, str | int] | None = None,
) -> None:
    """Write the files that differ, which no emitter makes and which are given as texts by path; leave a manifest.

    The messages in the sink, and the facts, are part of it.
    """
    with incremental.turn() as journal:
        remove_old_staging({os.path.dirname(real_path(path)) for path in texts})
        with Writer(journal) as writer:
            for path, text in texts.items():
                writer.write(real_path(path), text.encode())
        incremental.remember(sink, writer.statuses, facts or {})
