"""Running again whenever an input changes."""

from __future__ import annotations

import argparse
import gc
import os
import sys
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, TypeAlias

from opwright.build.fingerprints import UnitFingerprints
from opwright.build.input_stamps import InputStamps
from opwright.cli import console
from opwright.cli.streams import say
from opwright.source.diagnostic import Diagnostics, Fault, FaultsFound

if TYPE_CHECKING:
    from opwright.run.generation import Generation

    Generate: TypeAlias = Callable[[argparse.Namespace, Diagnostics], "tuple[Generation, InputStamps | None]"]

__all__ = ["changed_operators", "watch"]


def watch(arguments: argparse.Namespace, generate: Generate, watched: InputStamps | None) -> int:
    """Run, and again whenever an input changes, until interrupted. Faults are reported, and the next change awaited.

    `watched` is the state of the inputs now, or None where they are not on this machine.
    """
    try:
        from watchfiles import watch as changes_of
    except ImportError:
        say("opwright: `--watch` needs the package `watchfiles`: pip install watchfiles\n")
        return console.USAGE
    if watched is None:
        say("opwright: the inputs are not on this machine, so there is nothing to watch\n")
        return console.USAGE
    tokens, watched = _run_once(arguments, generate, {}, watched)
    gc.collect()
    folders = filter(os.path.isdir, sorted({*map(os.path.dirname, watched.files), *watched.folders}))
    print(f"watching {len(watched.files)} inputs; stop with Ctrl-C", flush=True)
    # What changed before the watch began, and on file systems that do not tell, is found by looking every now and then.
    for _ in changes_of(*folders, recursive=False, debounce=50, step=20, rust_timeout=1000, yield_on_timeout=True):
        if not watched.are_current():
            now = InputStamps.take(watched.files, watched.folders)
            tokens, watched = _run_once(arguments, generate, tokens, now)
            # A catalog refers to itself, and programs run without the collection of garbage.
            gc.collect()
    return console.SUCCESS


def _run_once(
    arguments: argparse.Namespace, generate: Generate, before: dict[str, bytes], watched: InputStamps
) -> tuple[dict[str, bytes], InputStamps]:
    """One run, with what it found: the token of each operator, and the inputs. After faults, what there was before."""
    sink = Diagnostics()
    state = before, watched
    try:
        generation, read = generate(arguments, sink)
        tokens = UnitFingerprints()
        now = {str(function.name): tokens.entry(function) for function in generation.job.catalog.functions}
        if before:
            for line in changed_operators(before, now):
                print(f"  {line}")
        state = now, read or watched
    except (Fault, FaultsFound) as raised:
        sink.take(raised)
    except OSError as error:
        # The disk may have room again when the next change comes.
        say(f"opwright: {error}\n")
    console.report(sink, arguments.color)
    sys.stdout.flush()
    return state


def changed_operators(before: dict[str, bytes], now: dict[str, bytes]) -> Iterable[str]:
    """What became of operators, by their tokens before and now.

    >>> list(changed_operators({"a": b"1", "b": b"1"}, {"b": b"2", "c": b"1"}))
    ['changed b', 'added c', 'removed a']
    """
    for name, token in now.items():
        if name not in before:
            yield f"added {name}"
        elif before[name] != token:
            yield f"changed {name}"
    for name in before:
        if name not in now:
            yield f"removed {name}"
