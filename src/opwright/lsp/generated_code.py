"""Whether generated code differs in the name of an argument alone."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Final

from opwright.emit.emitter import Job
from opwright.emit.registry import emitters
from opwright.source.named_tuple import NamedTuple

__all__ = ["Renamed", "other_difference"]

_TOKEN: Final = re.compile(r"\w+|[^\w\s]")
#: Names that stand for themselves, and so would hide an argument; members of other things do not.
_OWN_NAME: Final = re.compile(r"(?<![\w.\"'])(?<!->)(?<!::)[A-Za-z_]\w*(?![\w\"'])")
_STRING_OR_COMMENT: Final = re.compile(r"\"(?:[^\"\\\n]|\\.)*\"|(?m://.*$)")


class Renamed(NamedTuple):
    """The old and the new name of an argument, and the names of the arguments of all operators in the code."""

    old: str
    new: str
    arguments: frozenset[str]

    @property
    def pattern(self) -> re.Pattern[str]:
        """The old name, alone or in a word with `_`."""
        return re.compile(rf"(?<![A-Za-z0-9]){self.old}(?![A-Za-z0-9])")

    def apply(self, token: str) -> str:
        """A token with the new name in place of the old one."""
        return self.pattern.sub(self.new, token)


def other_difference(before: Job, after: Job, families: Sequence[str], renamed: Renamed) -> str | None:
    """What the code of two jobs differs in besides the name of an argument; None if in nothing else.

    A name that is made from the argument's, such as that of a saved value, differs likewise. None of the new names may
    be another thing before, but for arguments of other operators.
    """
    for own, other in zip_longest(_texts(before, families), _texts(after, families), fillvalue=""):
        if own != other:
            difference = _difference(own, other, renamed)
            if difference is not None:
                return difference
    return None


def _difference(own: str, other: str, renamed: Renamed) -> str | None:
    """What two texts differ in besides the name of an argument."""
    tokens, others = _TOKEN.findall(own), _TOKEN.findall(other)
    taken = set(_OWN_NAME.findall(_STRING_OR_COMMENT.sub("", own))) - renamed.arguments
    for index, (token, changed) in enumerate(zip_longest(tokens, others, fillvalue="")):
        if token != changed and not _is_renamed(token, changed, renamed):
            if sorted(map(renamed.apply, tokens)) == sorted(others):
                return "it is sorted by the names of arguments, so choose one that keeps the order"
            return "`" + " ".join(others[max(0, index - 3) : index + 4]) + "`"
        if token != changed and changed in taken:
            return f"`{changed}` is the name of another thing there"
    return None


def _is_renamed(token: str, changed: str, renamed: Renamed) -> bool:
    """Whether a token differs from another one in the name, which may be a part of it, of a word with `_`."""
    parts = renamed.pattern.split(token)
    # The other word of `value_value` may be no argument.
    return re.fullmatch(f"(?:{renamed.old}|{renamed.new})".join(map(re.escape, parts)), changed) is not None


def _texts(job: Job, families: Sequence[str]) -> Iterator[str]:
    """The texts of all units, in their order."""
    for emitter in emitters(job, families):
        for unit in emitter.units(job):
            for value in emitter.fragment(unit, job).values():
                yield from (value,) if isinstance(value, str) else value
