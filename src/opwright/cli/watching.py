"""Running again whenever an input changes."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, TypeAlias

from opwright.build.tokens import UnitTokens
from opwright.build.watch import Watched
from opwright.cli import console
from opwright.cli.streams import say
from opwright.source.diagnostic import Diagnostics, Fault, FaultsFound

if TYPE_CHECKING:
    from opwright.generation import Generation, Outcome

    Generate: TypeAlias = Callable[[argparse.Namespace, Diagnostics], "tuple[Generation, Outcome, Watched | None]"]

__all__ = ["changed_operators", "watch"]


def watch(arguments: argparse.Namespace, generate: Generate) -> int:
    """Run, and again whenever an input changes, until interrupted. Faults are reported, and the next change awaited."""
    try:
        from watchfiles import watch as changes_of
    except ImportError:
        say("opwright: `--watch` needs the package `watchfiles`: pip install watchfiles\n")
        return console.USAGE
    before = _run_once(arguments, generate, {})
    if before is None:
        return console.FAULTS
    tokens, watched = before
    if watched is None:
        say("opwright: the inputs are not on this machine, so there is nothing to watch\n")
        return console.USAGE
    folders = filter(os.path.isdir, sorted({*map(os.path.dirname, watched.files), *watched.folders}))
    print(f"watching {len(watched.files)} inputs; stop with Ctrl-C", flush=True)
    # What changed before the watch began, and on file systems that do not tell, is found by looking every now and then.
    for _ in changes_of(*folders, recursive=False, debounce=50, step=20, rust_timeout=1000, yield_on_timeout=True):
        if watched.holds():
            continue
        watched = Watched.taken(watched.files, watched.folders)
        done = _run_once(arguments, generate, tokens)
        if done is not None:
            tokens, watched = done[0], done[1] or watched
    return console.SUCCESS


def _run_once(
    arguments: argparse.Namespace, generate: Generate, before: dict[str, bytes]
) -> tuple[dict[str, bytes], Watched | None] | None:
    """One run, with what it found: the token of each operator, and the inputs. None where there are faults."""
    sink = Diagnostics()
    done = None
    try:
        generation, _, watched = generate(arguments, sink)
        tokens = UnitTokens()
        now = {str(one.name): tokens.content(one) for one in generation.job.catalog.functions}
        if before:
            for line in changed_operators(before, now):
                print(f"  {line}")
        done = now, watched
    except Fault as fault:
        sink.add(fault.diagnostic)
    except FaultsFound as found:
        for diagnostic in found.diagnostics:
            sink.add(diagnostic)
    console.report(sink, arguments.color)
    sys.stdout.flush()
    return done


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
