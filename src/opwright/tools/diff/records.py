"""What a comparison says: a record for each operator that differs, why it breaks something, and levels of versions."""

from __future__ import annotations

import enum
import re
from collections.abc import Iterable
from typing import Final, NamedTuple

from opwright.model.native_function import NativeFunction


class Level(enum.Enum):
    """What a change does to the version of a package, after the rules of semantic versioning."""

    major = "something that worked no longer does"
    minor = "something new works, and all that worked still does"
    patch = "nothing that callers can see"

    __hash__ = object.__hash__


#: From the least to the greatest.
ORDER: Final = (Level.patch, Level.minor, Level.major)

_VERSION: Final = re.compile(r"(\d+)\.(\d+)(?:\.(\d+))?")


def greatest(levels: list[Level]) -> Level:
    """The greatest of some levels, that of a patch if there are none.

    >>> greatest([Level.patch, Level.major]).name, greatest([]).name
    ('major', 'patch')
    """
    return max(levels, key=ORDER.index, default=Level.patch)


def next_version(version: str, level: Level) -> str:
    """The version after one. Before 1.0 a major change makes a minor version, and a minor one a patch, as is usual.

    Raises ValueError for a text that begins with no version.

    >>> [next_version("1.4.2", level) for level in Level], next_version("0.4.2", Level.major)
    (['2.0.0', '1.5.0', '1.4.3'], '0.5.0')
    """
    parts = _VERSION.match(version)
    if parts is None:
        raise ValueError(version)
    major, minor, patch = (int(part or 0) for part in parts.groups())
    if level is Level.major and major:
        return f"{major + 1}.0.0"
    if level is Level.major or (level is Level.minor and major):
        return f"{major}.{minor + 1}.0"
    return f"{major}.{minor}.{patch + 1}"


class Audience(enum.Enum):
    """Whom a change breaks. Reports name the members by their names."""

    python = "Python code that calls the operator"
    cpp = "C++ code that calls the operator, when it is compiled again"
    serialized = "programs that were saved with the old one"
    forward = "programs that are saved with the new one, in the old one"
    kernel = "kernels that are registered for the operator elsewhere"
    gradients = "code that asks for gradients"
    shim = "code that AOTInductor compiled against the C shim"

    __hash__ = object.__hash__


class ChangeKind(enum.Enum):
    """What happened to an operator."""

    removed = "removed"
    changed = "changed"
    added = "added"

    __hash__ = object.__hash__


#: Those whom a change breaks that was compatible for its author: whoever loads new programs into an old package, or has
#: kernels of its own for the operator.
_NOT_CALLERS: Final = frozenset((Audience.forward, Audience.kernel))


class Reason(NamedTuple):
    """Something that differs, in a few words, and whom it breaks; nobody, if there are no audiences.

    `level` is what it does to a version at least: a change that breaks somebody is a major one. `since` is the first
    tag or commit that has it, if that was asked.
    """

    text: str
    audiences: frozenset[Audience] = frozenset()
    level: Level = Level.patch
    since: str = ""

    @property
    def does(self) -> Level:
        """What it does to the version of a package.

        >>> Reason("", frozenset([Audience.cpp])).does.name, Reason("", frozenset([Audience.kernel])).does.name
        ('major', 'minor')
        """
        if self.audiences - _NOT_CALLERS:
            return Level.major
        return greatest([self.level, Level.minor]) if self.audiences else self.level


class OperatorChange(NamedTuple):
    """An operator that differs: its form before and after, None where it does not exist.

    `similar` are added operators that may replace a removed one. `since` is the first tag or commit that has an added
    one, if that was asked.
    """

    name: str
    kind: ChangeKind
    old: NativeFunction | None
    new: NativeFunction | None
    reasons: tuple[Reason, ...] = ()
    similar: tuple[str, ...] = ()
    since: str = ""

    @property
    def breaks(self) -> tuple[Audience, ...]:
        """Whom the change breaks, in the order of the audiences."""
        broken = frozenset[Audience]().union(*[reason.audiences for reason in self.reasons])
        return tuple([audience for audience in Audience if audience in broken])

    @property
    def level(self) -> Level:
        """What the change does to the version of a package. Names that begin with `_` are nobody's."""
        if self.is_private:
            return Level.patch
        if self.kind is ChangeKind.added:
            return Level.minor
        return greatest([reason.does for reason in self.reasons])

    @property
    def is_private(self) -> bool:
        """Whether the name of the operator says that it is not for users."""
        return self.name.rpartition("::")[2].startswith("_")

    @property
    def schema_changed(self) -> bool:
        """Whether the operator is in both, with another schema."""
        return self.old is not None and self.new is not None and str(self.old) != str(self.new)


class Comparison(NamedTuple):
    """Differences between two catalogs, by the names of their operators; `old` and `new` say what they are.

    For the audiences `not_compared` a side lacks what a comparison needs. Only a comparison of libraries
    `has_verdict`: of other operators too little is known. Of sides that are `running` libraries only schemas and tags
    were compared.
    """

    old: str
    new: str
    changes: tuple[OperatorChange, ...]
    not_compared: tuple[Audience, ...] = ()
    has_verdict: bool = False
    running: tuple[str, ...] = ()

    def breaking(self, audiences: Iterable[Audience]) -> list[OperatorChange]:
        """Changes that break one of these audiences."""
        chosen = frozenset(audiences)
        return [change for change in self.changes if chosen.intersection(change.breaks)]


def merge_reasons(reasons: Iterable[Reason]) -> tuple[Reason, ...]:
    """Reasons, those of the same text as one for all their audiences.

    >>> merge_reasons([Reason("a", frozenset([Audience.cpp])), Reason("a", frozenset([Audience.shim])), Reason("b")])[1]
    Reason(text='b', audiences=frozenset(), level=<Level.patch: 'nothing that callers can see'>, since='')
    """
    merged: dict[str, Reason] = {}
    for reason in reasons:
        same = merged.get(reason.text, reason)
        level = greatest([same.level, reason.level])
        merged[reason.text] = Reason(reason.text, same.audiences | reason.audiences, level)
    return tuple(merged.values())
