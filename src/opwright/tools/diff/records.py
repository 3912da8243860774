"""What a comparison says: a record for each operator that differs, with the reasons why it breaks something."""

from __future__ import annotations

import enum
from collections.abc import Iterable
from typing import NamedTuple

from opwright.model.native_function import NativeFunction


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


class Reason(NamedTuple):
    """Something that differs, in a few words, and whom it breaks; nobody, if there are no audiences."""

    text: str
    audiences: frozenset[Audience] = frozenset()


class OperatorChange(NamedTuple):
    """An operator that differs: its form before and after, None where it does not exist.

    `similar` are added operators that may replace a removed one.
    """

    name: str
    kind: ChangeKind
    old: NativeFunction | None
    new: NativeFunction | None
    reasons: tuple[Reason, ...] = ()
    similar: tuple[str, ...] = ()

    @property
    def breaks(self) -> tuple[Audience, ...]:
        """Whom the change breaks, in the order of the audiences."""
        broken = frozenset[Audience]().union(*[reason.audiences for reason in self.reasons])
        return tuple([audience for audience in Audience if audience in broken])

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

    For the audiences `not_compared` a side lacks what a comparison needs.
    """

    old: str
    new: str
    changes: tuple[OperatorChange, ...]
    not_compared: tuple[Audience, ...] = ()

    def breaking(self, audiences: Iterable[Audience]) -> list[OperatorChange]:
        """Changes that break one of these audiences."""
        chosen = frozenset(audiences)
        return [change for change in self.changes if chosen.intersection(change.breaks)]


def merge_reasons(reasons: Iterable[Reason]) -> tuple[Reason, ...]:
    """Reasons, those of the same text as one for all their audiences.

    >>> merge_reasons([Reason("a", frozenset([Audience.cpp])), Reason("a", frozenset([Audience.shim])), Reason("b")])[1]
    Reason(text='b', audiences=frozenset())
    """
    merged: dict[str, frozenset[Audience]] = {}
    for reason in reasons:
        merged[reason.text] = merged.get(reason.text, frozenset()) | reason.audiences
    return tuple([Reason(text, audiences) for text, audiences in merged.items()])
