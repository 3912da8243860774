"""Since when a change is there: the commits between the two sides of a comparison."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from opwright.source.diagnostic import Fault, FaultsFound
from opwright.tools.diff.compare import Side, compare
from opwright.tools.diff.places import GIT, commit_place, run_git
from opwright.tools.diff.records import ChangeKind, Comparison
from opwright.tools.tool_codes import NO_SIDE

#: How many commits are read.
_MOST: Final = 500

#: What the report calls files that no commit has.
_UNCOMMITTED: Final = "the last commit"


class Revision(NamedTuple):
    """A commit: the first tag that has it or its short name, and the name of the side that it is."""

    label: str
    side: str


class Dated(NamedTuple):
    """A comparison whose changes say since when they are there, and how many commits could not be read."""

    comparison: Comparison
    commits: int
    unread: int


def revisions(old: str, new: str) -> Iterator[Revision]:
    """The commits after the old side up to the new one that change files beside the library, from the oldest one on.

    Raises Fault (E2103) if the old side is no commit, or if there are too many commits.
    """
    if not old.startswith(GIT):
        help = "write `git:REF` for OLD"
        raise Fault.at(NO_SIDE, f"`--since` looks for commits, and `{old}` is none", help=help)
    first = commit_place(old, new)
    last = commit_place(new, old) if new.startswith(GIT) else None
    end = last.commit if last is not None else "HEAD"
    # OLD has the path of NEW unless it names one. A module or an archive has none in a commit.
    path = first.path if last is None else last.path
    folder = path if os.path.isdir(os.path.join(first.top, path)) else os.path.dirname(path)
    range = f"{first.commit}..{end}"
    listed = run_git(first.top, "rev-list", "--reverse", "--first-parent", range, "--", folder or ".").split()
    if len(listed) > _MOST:
        raise Fault.at(NO_SIDE, f"there are {len(listed):,} commits since `{first.ref}`: name a later one")
    for commit in listed:
        words = ("tag", "--list", "--sort=creatordate", "--contains", commit, "--merged", end)
        tags = run_git(first.top, *words).splitlines()
        label = tags[0] if tags else run_git(first.top, "rev-parse", "--short", commit)
        yield Revision(label, f"{GIT}{commit}:{path}")


def dated(comparison: Comparison, old: Side, between: list[Revision], load: Callable[[str], Side]) -> Dated:
    """A comparison with the first revision from which on each change is there. `load` gives the side of a name."""
    #: What each revision has of the changes, as the texts of their reasons.
    labels, seen = [], []
    for revision in between:
        try:
            there = compare(old, load(revision.side))
        except (Fault, FaultsFound):
            continue
        labels.append(revision.label)
        # There is nothing to say of an operator that is new.
        seen.append(
            {
                (change.name, text)
                for change in there.changes
                for text in ([""] if change.kind is ChangeKind.added else [reason.text for reason in change.reasons])
            }
        )

    def since(name: str, text: str) -> str:
        label = _UNCOMMITTED
        for earlier, has in zip(reversed(labels), reversed(seen), strict=True):
            if (name, text) not in has:
                break
            label = earlier
        return label

    changes = [
        change._replace(
            reasons=tuple([reason._replace(since=since(change.name, reason.text)) for reason in change.reasons]),
            since=since(change.name, "") if change.kind is ChangeKind.added else "",
        )
        for change in comparison.changes
    ]
    return Dated(comparison._replace(changes=tuple(changes)), len(between), len(between) - len(labels))
