"""Running again whenever an input changes."""

from __future__ import annotations

import argparse
import gc
import os
import sys
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Protocol

from opwright.cli import console
from opwright.incremental.fingerprints import UnitFingerprints
from opwright.incremental.identity import InputStamps
from opwright.source.diagnostic import Diagnostics, Fault, FaultsFound
from opwright.source.terminal import say, tell

if TYPE_CHECKING:
    from opwright.run.incremental_generation import IncrementalGeneration

    class Generate(Protocol):
        """A run; after an edit in place it may load few operators."""

        def __call__(
            self, arguments: argparse.Namespace, sink: Diagnostics, *, may_load_few: bool
        ) -> IncrementalGeneration:
            """Make the run."""


def watch_yaml(paths: Iterable[str], run: Callable[[], object]) -> int:
    """Run, and again whenever a YAML file in the folders of some files changes, until interrupted."""
    folders = sorted({os.path.dirname(os.path.abspath(path)) for path in paths})
    if not folders:
        say("opwright: no file is named that could change, so there is nothing to watch\n")
        return console.USAGE
    try:
        from watchfiles import watch as changes_of
    except ImportError:
        return _lacks_watchfiles()
    run()
    say(f"watching {', '.join(map(os.path.relpath, folders))}; stop with Ctrl-C\n")
    for changes in changes_of(*folders, recursive=False, debounce=50, step=20):
        if any(path.endswith((".yaml", ".yml")) for _, path in changes):
            run()
            sys.stdout.flush()
            # What runs load refers to itself, and programs run without the collection of garbage.
            gc.collect()
    return console.SUCCESS


def _lacks_watchfiles() -> int:
    say("opwright: `--watch` needs the package `watchfiles`: pip install watchfiles\n")
    return console.USAGE


def watch(arguments: argparse.Namespace, generate: Generate, stamps: InputStamps | None) -> int:
    """Run, and again whenever an input changes, until interrupted. Faults are reported, and the next change awaited.

    `stamps` are those of the inputs now, or None where they are not on this machine.
    """
    try:
        from watchfiles import watch as changes_of
    except ImportError:
        return _lacks_watchfiles()
    if stamps is None:
        say("opwright: the inputs are not on this machine, so there is nothing to watch\n")
        return console.USAGE
    fingerprints, stamps = _run_once(arguments, generate, {}, stamps)
    folders = filter(os.path.isdir, sorted({*map(os.path.dirname, stamps.files), *stamps.folders}))
    tell(f"watching {len(stamps.files)} inputs; stop with Ctrl-C", flush=True)
    # The watcher has threads of its own, beside which this process must not be copied.
    arguments = argparse.Namespace(**{**vars(arguments), "jobs": 1})
    # Changes before the watch began, and on file systems that do not report them, show when the stamps are compared.
    for _ in changes_of(*folders, recursive=False, debounce=50, step=20, rust_timeout=1000, yield_on_timeout=True):
        if not stamps.are_current():
            now = InputStamps.take(stamps.files, stamps.folders)
            fingerprints, stamps = _run_once(arguments, generate, fingerprints, now)
    return console.SUCCESS


def _run_once(
    arguments: argparse.Namespace, generate: Generate, before: dict[str, bytes], stamps: InputStamps
) -> tuple[dict[str, bytes], InputStamps]:
    """Run once, and free the memory of the run.

    Gives the fingerprints of the operators and the stamps of the inputs; after faults, those from before.
    """
    state = _generate(arguments, generate, before, stamps)
    # A catalog refers to itself, and programs run without the collection of garbage.
    gc.collect()
    return state


def _generate(
    arguments: argparse.Namespace, generate: Generate, before: dict[str, bytes], stamps: InputStamps
) -> tuple[dict[str, bytes], InputStamps]:
    """Run once, and print which operators changed or what is wrong with the inputs."""
    sink = Diagnostics()
    state = before, stamps
    try:
        # Few operators do not tell the fingerprints of all.
        incremental = generate(arguments, sink, may_load_few=bool(before))
        now = _fingerprints(incremental, before)
        if before:
            for line in changed_operators(before, now):
                tell(f"  {line}")
        state = now, incremental.stamps or stamps
    except (Fault, FaultsFound) as raised:
        sink.take(raised)
    except OSError as error:
        # The disk may have room again when the next change comes.
        say(f"opwright: {error}\n")
    console.report(sink, arguments.color)
    sys.stdout.flush()
    return state


def _fingerprints(incremental: IncrementalGeneration, before: dict[str, bytes]) -> dict[str, bytes]:
    """Fingerprints of all operators after a run, which may have loaded only those of an edit in place."""
    if incremental.job is None:
        return before
    catalog, fingerprints = incremental.job.catalog, UnitFingerprints()
    now = {str(function.name): fingerprints.entry(function) for function in catalog.functions}
    return {**before, **now} if catalog.is_partial else now


def changed_operators(before: dict[str, bytes], now: dict[str, bytes]) -> Iterable[str]:
    """Which operators changed, came or went, by their fingerprints before and now.

    >>> list(changed_operators({"a": b"1", "b": b"1"}, {"b": b"2", "c": b"1"}))
    ['changed b', 'added c', 'removed a']
    """
    for name, fingerprint in now.items():
        if name not in before:
            yield f"added {name}"
        elif before[name] != fingerprint:
            yield f"changed {name}"
    for name in before:
        if name not in now:
            yield f"removed {name}"
