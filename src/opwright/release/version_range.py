"""Ranges of versions, as input files state them: `>=2.10,<2.15`, or a first and a last release."""

from __future__ import annotations

import operator
import re
from typing import Final

from opwright.release.version import RELEASES, Version, parse_version
from opwright.source.lazy import lazy_pattern
from opwright.source.records import NamedTuple

_BOUND: Final = lazy_pattern(r"\s*(>=|<=|==|!=|>|<)\s*(\d+\.\d+(?:\.\d+)?)\s*", re.ASCII)
_COMPARISONS: Final = {
    ">=": operator.ge, "<=": operator.le, ">": operator.gt, "<": operator.lt, "==": operator.eq, "!=": operator.ne,
}  # fmt: skip
_LONGEST: Final = 200


class RangeFault(ValueError):
    """A part of a text that is no bound, from offset `start` to `end`."""

    def __init__(self, start: int, end: int) -> None:
        super().__init__(start, end)
        self.start: Final = start
        self.end: Final = end

    def help(self, text: str) -> str:
        """How to write the part of a text, or the text as a whole; in YAML it cannot start with `>` without quotes."""
        is_part = self.start < self.end and self.end - self.start < len(text)
        return "write a bound, such as `<2.15`" if is_part else 'write it like `">=2.10,<2.15"`'


class _Bound(NamedTuple):
    operator: str
    version: Version
    has_patch: bool

    def allows(self, version: Version) -> bool:
        """Whether a version is on the right side. A bound without patch number is about whole series."""
        own, other = tuple(self.version), tuple(version)
        if not self.has_patch:
            own, other = own[:2], other[:2]
        return bool(_COMPARISONS[self.operator](other, own))


class VersionRange(NamedTuple):
    """A range of versions: all of its bounds hold. Without bounds it has all versions.

    >>> allowed = parse_version_range(">=2.10, <2.15")
    >>> [allowed.includes(parse_version(text)) for text in ("2.9.1", "2.10.0", "2.14.2", "2.15.0")]
    [False, True, True, False]
    """

    bounds: tuple[_Bound, ...] = ()

    def includes(self, version: Version) -> bool:
        """Whether a version is in the range."""
        return all(bound.allows(version) for bound in self.bounds)


def parse_version_range(text: str) -> VersionRange:
    """The range that a text states: bounds with a comma between them. Raises RangeFault at what is no bound.

    >>> parse_version_range("==2.13").includes(parse_version("2.13.1"))
    True
    """
    bounds: list[_Bound] = []
    start = 0
    if len(text) > _LONGEST:
        raise RangeFault(0, len(text))
    for part in text.split(","):
        match = _BOUND.fullmatch(part)
        if match is None:
            indent = len(part) - len(part.lstrip())
            raise RangeFault(start + indent, start + max(len(part.rstrip()), indent))
        sign, number = match.groups()
        bounds.append(_Bound(sign, parse_version(number), number.count(".") == 2))
        start += len(part) + 1
    return VersionRange(tuple(bounds))


class ReleaseSpan(NamedTuple):
    """The releases from `since` on, and before `until`; None where there is no such bound. Patch numbers do not count.

    >>> span = ReleaseSpan(parse_version("2.11"), parse_version("2.13"))
    >>> [span.includes(parse_version(text)) for text in ("2.10.1", "2.11.0", "2.12.1", "2.13.0")]
    [False, True, True, False]
    >>> span.overlaps(ReleaseSpan(parse_version("2.13"))), span.overlaps(ReleaseSpan(None, parse_version("2.12")))
    (False, True)
    """

    since: Version | None = None
    until: Version | None = None

    def includes(self, version: Version) -> bool:
        """Whether a release is in the span."""
        series = version[:2]
        return (self.since is None or series >= self.since[:2]) and (self.until is None or series < self.until[:2])

    @property
    def is_empty(self) -> bool:
        """Whether no release is in the span."""
        return self.since is not None and not self.includes(self.since)

    def overlaps(self, other: ReleaseSpan) -> bool:
        """Whether a release is in both spans."""
        starts = [span.since[:2] for span in (self, other) if span.since is not None]
        ends = [span.until[:2] for span in (self, other) if span.until is not None]
        return not starts or not ends or max(starts) < min(ends)

    def meets(self, allowed: VersionRange) -> bool:
        """Whether a release is in the span and in a range.

        >>> allowed = parse_version_range(">=2.10,<2.14")
        >>> [ReleaseSpan(parse_version(text)).meets(allowed) for text in ("2.9", "2.13", "2.14")]
        [True, True, False]

        Releases that no table lists count too:

        >>> ReleaseSpan(until=parse_version("2.5")).meets(parse_version_range("<2.3"))
        True
        >>> ReleaseSpan(since=parse_version("2.90")).meets(parse_version_range(">2.95"))
        True
        """
        if self.since is None and self.until is None:
            return True
        versions = [release.version for release in RELEASES] + [bound.version for bound in allowed.bounds]
        bounds = [version for version in self if version is not None]
        patches = {0, *[max(0, bound.version.patch + step) for bound in allowed.bounds for step in (-1, 0, 1)]}
        near = [(version[0], version[1] + step) for version in (*versions, *bounds) for step in (-1, 0, 1)]
        candidates = [Version(*series, patch) for series in near for patch in patches]
        return any(self.includes(version) and allowed.includes(version) for version in candidates)
