"""Which operators of a coverage report a user asks for."""

from __future__ import annotations

from fnmatch import fnmatchcase

from opwright.coverage.records import OperatorRecord
from opwright.source.named_tuple import NamedTuple

__all__ = ["Query"]


class Query(NamedTuple):
    """The choices of a user; an empty one leaves out no operator.

    `names` are names or patterns such as `conv*`; a name without its overload stands for all overloads. `traps` has the
    names of kinds of traps, and `any` for all of them.
    """

    names: tuple[str, ...] = ()
    statuses: tuple[str, ...] = ()
    backward: tuple[str, ...] = ()
    meta: tuple[str, ...] = ()
    traps: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether all operators are wanted because nothing is said."""
        return not any(self)

    def selects(self, record: OperatorRecord) -> bool:
        """Whether an operator is wanted."""
        kinds = {trap.kind.name for trap in record.traps}
        return (
            (not self.names or any(_matches(record, name) for name in self.names))
            and (not self.statuses or record.status.name in self.statuses)
            and (not self.backward or record.backward.status.name in self.backward)
            and (not self.meta or record.meta.name in self.meta)
            and (not self.traps or not kinds.isdisjoint(self.traps) or ("any" in self.traps and bool(kinds)))
        )


def _matches(record: OperatorRecord, pattern: str) -> bool:
    name = record.name
    return fnmatchcase(name, pattern) or fnmatchcase(name.partition(".")[0], pattern)
