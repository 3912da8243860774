"""A behaviour that differs between releases: its values, the releases of its changes, and their reasons."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Generic, Protocol, TypeVar, overload

from opwright.release.version import OLDEST, Mark, Version, parse_version

BehaviourValue = TypeVar("BehaviourValue", bound=int)


class HasVersion(Protocol):
    """What has the rules of a release."""

    version: Version


class Change(Generic[BehaviourValue]):
    """A behaviour's value from one release on, and why PyTorch changed it.

    `mark` tells the change in a tree between releases, which may have it before its release, or not yet.
    """

    __slots__ = ("mark", "series", "since", "value", "why")

    def __init__(self, since: str, value: BehaviourValue, why: str, mark: Mark | None = None) -> None:
        self.since: Final = since
        self.series: Final = parse_version(since)[:2]
        self.value: Final = value
        self.why: Final = why
        self.mark: Final = mark


class Behaviour(Generic[BehaviourValue]):
    """One row: what is done, and the value that it has from which release on, and why.

    `changes` are ordered by release. The first one holds from the oldest release known; it needs a reason only if no
    other follows.

    >>> row = Behaviour("Shards.", Change("2.4", 4, ""), Change("2.11", 8, "Faster."), Change("2.13", 2, "Simpler."))
    >>> [row.value_in(Version(2, minor)) for minor in (10, 11, 12, 13)]
    [4, 8, 8, 2]
    """

    __slots__ = ("changes", "name", "what")

    def __init__(self, what: str, *changes: Change[BehaviourValue]) -> None:
        self.name = ""
        self.what: Final = what
        self.changes: Final = changes

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, rules: None, owner: type) -> Behaviour[BehaviourValue]: ...

    @overload
    def __get__(self, rules: HasVersion, owner: type) -> BehaviourValue: ...

    def __get__(self, rules: HasVersion | None, owner: type) -> Behaviour[BehaviourValue] | BehaviourValue:
        # Only the class asks this way: an instance holds the value itself, which Python finds before this row.
        return self if rules is None else self.value_in(rules.version)

    def value_in(self, version: Version) -> BehaviourValue:
        """The value in a release. Releases newer than those known have the value of the newest one."""
        return self._last_change(version).value

    def holds(self, version: Version) -> str:
        """The releases that share a release's value, in words.

        >>> row = until_release("2.13", "Names are passed on.", "They were removed.", None)
        >>> row.holds(Version(2, 14))
        'from 2.13 on'
        """
        index = self.changes.index(self._last_change(version))
        since = f"from {self.changes[index].since}" if index else ""
        if index + 1 < len(self.changes):
            return f"{since} before {self.changes[index + 1].since}".lstrip()
        return f"{since} on" if since else "in every release"

    def value_with(self, version: Version, has_mark: Callable[[Mark], bool | None]) -> BehaviourValue:
        """The value in a tree between releases, where `has_mark` tells the marks of the tree.

        A change without a mark, or with one that cannot be found, goes by the version. So does a missing mark of an
        older change than those of the release before: such a tree has the change, and the text around it may be new.
        """
        before = Version(version.major, version.minor - 1)[:2]
        value = self.changes[0].value
        for change in self.changes[1:]:
            holds = None if change.mark is None else has_mark(change.mark)
            if holds or (not holds and change.series <= version[:2] and (holds is None or change.series < before)):
                value = change.value
        return value

    def changes_between(self, older: Version, newer: Version) -> tuple[Change[BehaviourValue], ...]:
        """The changes after one release, up to and with another."""
        return tuple([change for change in self.changes if older[:2] < change.series <= newer[:2]])

    def _last_change(self, version: Version) -> Change[BehaviourValue]:
        series = version[:2]
        last = self.changes[0]
        for change in self.changes:
            if change.series <= series:
                last = change
        return last


def from_release(since: str, what: str, why: str, mark: Mark | None) -> Behaviour[bool]:
    """A behaviour that starts in this release. Trees that have it have the mark."""
    return Behaviour(what, Change(OLDEST.series, False, ""), Change(since, True, why, mark))


def until_release(until: str, what: str, why: str, mark: Mark | None) -> Behaviour[bool]:
    """A behaviour that ends in this release. Trees that have it no more have the mark."""
    return Behaviour(what, Change(OLDEST.series, True, ""), Change(until, False, why, mark))


def shards(count: int, what: str, *changes: Change[int]) -> Behaviour[int]:
    """A number of shards, which may change."""
    why = "" if changes else "More and smaller files compile in parallel."
    return Behaviour(what, Change(OLDEST.series, count, why), *changes)
