"""Runs of programs: their identity, which the arguments give, and the messages of an earlier identical run."""

from __future__ import annotations

import os
from functools import partial
from importlib.util import find_spec

from opwright.cli.streams import AUTO, wants_color
from opwright.incremental.identity import RunIdentity
from opwright.run.incremental_generation import IncrementalGeneration, files_in, without_color
from opwright.source.terminal import say_rendered

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterable, Mapping

    from opwright.incremental.state import Manifest
    from opwright.release.inputs import Inputs
    from opwright.run.output_writer import Outcome
    from opwright.run.request import Request
    from opwright.source.diagnostic import Diagnostics

#: Arguments that do not change the outputs.
WITHOUT_EFFECT = frozenset(
    [
        "actions",
        "check",
        "color",
        "declared",
        "describe",
        "describe_to",
        "dry_run",
        "hermetic",
        "jobs",
        "list_outputs",
        "prune",
        "stats",
        "uses_plugins",
        "watch",
        "yes",
    ]
)

#: What drop-in programs write from the state that a run leaves.
_FOR_BUILDS = frozenset(["depfile", "stamp"])


def run_of(
    program: str,
    arguments: argparse.Namespace,
    home: str,
    folders: Mapping[str, str],
    families: Iterable[str],
    *,
    apart: bool = False,
    **kind: object,
) -> RunIdentity:
    """Identity of a command's run: its families, its output folders, and all its arguments.

    The state of a run `apart` is in the user's cache.
    """
    facts = request_facts(program, arguments, _FOR_BUILDS if apart else frozenset())
    return RunIdentity(home, folders, families, kind, facts, apart=apart, prunes=arguments.prune)


#: Identity of a drop-in program's run, whose output folders get only what PyTorch's program would write.
drop_in_run_of = partial(run_of, apart=True)


def request_facts(
    program: str, arguments: argparse.Namespace, left_out: frozenset[str] = frozenset()
) -> dict[str, object]:
    """All that a program was asked for, without these arguments."""
    without = WITHOUT_EFFECT | left_out
    return {
        "program": program,
        "working folder": os.getcwd(),
        "arguments": {name: value for name, value in vars(arguments).items() if name not in without},
        # Folders lack what is then taken from there.
        "installed": _installed_torch(),
    }


def _installed_torch() -> str | None:
    """Where the installed PyTorch's generator is, without importing it."""
    try:
        spec = find_spec("torchgen")
    except (ImportError, ValueError):
        return None
    return spec.origin if spec is not None else None


def current_manifest(run: RunIdentity, color: str = AUTO) -> Manifest | None:
    """Manifest of an earlier run that leaves this one nothing to do, or None; prints the earlier run's warnings.

    `color` is a choice of `--color`.
    """
    manifest = IncrementalGeneration(run).current_manifest()
    if manifest is not None:
        repeat_messages(manifest.facts, color)
    return manifest


def repeat_messages(facts: Mapping[str, str | int], color: str) -> None:
    """Print the messages of an earlier run, from the facts in its manifest."""
    if messages := str(facts.get("messages", "")):
        say_rendered(messages if wants_color(color) else without_color(messages))


def write_edit(
    incremental: IncrementalGeneration,
    inputs: Inputs,
    make_request: Callable[[Diagnostics], Request],
    more_files: Iterable[str] = (),
    color: str = AUTO,
) -> Outcome | None:
    """Write what an edit of few entries changed (`IncrementalGeneration.write_edit`); print the messages that stay."""
    outcome = incremental.write_edit(inputs, make_request, more_files)
    if outcome is not None:
        repeat_messages(incremental.facts, color)
    return outcome


def write_all(
    incremental: IncrementalGeneration,
    inputs: Inputs,
    make_request: Callable[[Diagnostics], Request],
    sink: Diagnostics,
    more_files: Iterable[str] = (),
) -> None:
    """Write the outputs that differ, and load no more operators than needed."""
    if write_edit(incremental, inputs, make_request, more_files) is None:
        incremental.write(incremental.load(inputs, make_request, sink, more_files))


def run_unless_current(
    run: RunIdentity,
    work: Callable[[Diagnostics], int],
    arguments: argparse.Namespace,
    *,
    is_current: bool | None = None,
) -> int:
    """Do a drop-in program's work unless an earlier run left nothing to do, and give the exit status.

    Then write what its arguments ask for besides (`--depfile`, `--stamp`). `is_current` is whether there is nothing to
    do, if that is known.
    """
    if is_current is None:
        is_current = current_manifest(run) is not None
    is_for_build = arguments.depfile is not None or arguments.stamp is not None
    if is_current and not is_for_build:
        return 0
    from opwright.cli import console

    def work_for_build(sink: Diagnostics) -> int:
        from opwright.cli.extra_files import write_for_build

        status = console.SUCCESS if is_current else work(sink)
        if status == console.SUCCESS and not sink.has_errors:
            write_for_build(arguments, run)
        return status

    return console.run(work_for_build if is_for_build else work)


def further_files(arguments: argparse.Namespace, folders: Mapping[str, str]) -> list[str]:
    """Files that a run reads besides the release's inputs: a selection file, and the headers of C shims."""
    files = [] if arguments.op_selection_yaml_path is None else [arguments.op_selection_yaml_path]
    return files if arguments.update_c_shim else files + files_in(folders.get("aoti"), ".h")
