"""The rules of inputs: those of a known release, or those that a tree between releases shows.

The version of a tree between releases (`2.15.0a0`) says little: right after a release its generator is that of the
release, and each change comes with a commit of its own. So where PyTorch's generator is in the tree, the marks of the
changes in it decide, and it tells the operators that it lists. Its files are read and never run.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from opwright.release.generator_files import FORWARDS, GENERATOR
from opwright.release.rules import Rules
from opwright.release.tree_facts import TreeFacts, learn, read_facts
from opwright.release.version import (
    NEWEST,
    Mark,
    Version,
    check_says_version,
    is_known_release,
    shown_version,
    version_of,
    version_span,
)
from opwright.release.view import Inputs
from opwright.source.codes import CONTRADICTED_VERSION, LATER_GENERATOR
from opwright.source.diagnostic import Diagnostics, Fault


def rules_of(
    inputs: Inputs, release: str | None = None, sink: Diagnostics | None = None, *, are_written: bool = False
) -> Rules:
    """The rules that inputs follow: those of `release` if given, of a release that is known by its number, or of what
    a tree between releases shows. Dispatch keys and base types that only the tree has are learned. For what is written
    (`are_written`), nothing is guessed; for an editor and others that read alone, marks decide where files are missing.

    The sink gets a note for a version that is newer than those known (W0501), and a warning if the generator of a tree
    has what came after its version (W0506). Raises Fault if the version is too old (E0512) or unknown (E0513), if a
    tree between releases lacks a file of its generator (E0514): the version alone would be a guess, or if the generator
    lacks what came long before its version (E0525).
    """
    if are_written and release is None:
        check_says_version(inputs)
    version = version_of(inputs, release, sink)
    if release is not None or is_known_release(inputs.version_text):
        return Rules(version)
    program = inputs.read_optional(GENERATOR[0])
    if program is not None and program.text.startswith(FORWARDS):
        return Rules(version)
    if are_written and inputs.root is not None:
        _check_has_generator(inputs)
    elif program is None:
        return Rules(version)
    facts = facts_of(inputs, version, sink)
    learn(facts)
    return Rules(version, facts)


def _check_has_generator(inputs: Inputs) -> None:
    """Raises Fault for the first file of the generator that a tree between releases lacks."""
    try:
        for name in GENERATOR:
            inputs.read_text(name)
    except Fault as fault:
        help = "declare the file as an input of the build action too, or name a release with `--release`"
        note = f"its version {inputs.version_text} is of a tree between releases, where the generator tells the rules"
        raise Fault(fault.diagnostic._replace(notes=(note,), help=help)) from None


def facts_of(inputs: Inputs, version: Version, sink: Diagnostics | None = None) -> TreeFacts:
    """What the generator in a tree shows, where its version is known too.

    The sink gets a warning (W0506), or this raises Fault (E0525), if they contradict each other.
    """
    has_mark: Callable[[Mark], bool | None] = cache(lambda mark: mark.is_in(inputs))
    _check_marks(version, has_mark, inputs, sink)
    return read_facts(inputs, {row.name: row.value_with(version, has_mark) for row in Rules.rows()})


def _check_marks(
    version: Version, has_mark: Callable[[Mark], bool | None], inputs: Inputs, sink: Diagnostics | None
) -> None:
    """Tells that the generator of a tree is another one than its version says, where that version is known.

    A tree may have the generator of the release before its version. A text that is gone tells of no later release: an
    older one may not have had it yet.
    """
    series, before = version[:2], (version.major, version.minor - 1)
    changes = [(change, change.mark) for row in Rules.rows() for change in row.changes if change.mark is not None]
    missing = [(change.since, mark) for change, mark in changes if change.series < before and has_mark(mark) is False]
    later = [
        (change.since, mark) for change, mark in changes if change.series > series and not mark.gone and has_mark(mark)
    ]
    shown = shown_version(version, inputs.version_text)
    if missing and series <= NEWEST[:2]:
        raise Fault.at(
            CONTRADICTED_VERSION,
            f"the version is {shown}, but the generator lacks what PyTorch has from {missing[0][0]} on",
            version_span(inputs),
            notes=_listed([f"from {since} on: {mark}" for since, mark in missing]),
            help="correct the version, or say with `--release` whose rules to follow",
        )
    if later and sink is not None:
        sink.warning(
            LATER_GENERATOR,
            f"the version is {shown}, but the generator has what PyTorch has from {later[0][0]} on, and is followed",
            version_span(inputs),
            notes=_listed([f"from {since} on: {mark}" for since, mark in later]),
        )


def _listed(notes: list[str], most: int = 3) -> list[str]:
    """The first notes, and how many more there are."""
    return notes if len(notes) <= most else [*notes[:most], f"and {len(notes) - most} more"]
