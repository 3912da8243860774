"""Tables of operator names: the operators that PyTorch treats specially although its YAML does not say so.

A table is a constant in a module of `opwright.release.operator_names`, or in the module `operator_names` of a guest
that alone has use for it. Emitters ask it for the names of a release:

>>> from opwright.release.rules import Rules
>>> from opwright.release.version import Version
>>> table = NameTable(
...     "Operators that write to storage.",
...     Names("set_ resize_", "Their kernels are written by hand."),
...     Names("shrink_", "2.13 removed its last caller.", until="2.13"),
... )
>>> sorted(table.in_release(Rules(Version(2, 12)))), sorted(table.in_release(Rules(Version(2, 13))))
(['resize_', 'set_', 'shrink_'], ['resize_', 'set_'])
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, Generic, Literal, TypeAlias, TypeVar

from opwright.release.rules import Rules
from opwright.release.version import is_between
from opwright.source.records import NamedTuple

Content = TypeVar("Content")

NameForm: TypeAlias = Literal[
    "operator",
    "root",
    "overload",
    "unambiguous",
    "C++ name",
    "root or C++ name",
    "prefix",
    "suffix",
    "part",
    "kernel",
]
"""What a table's names are compared with.

`operator` is a name without overload (`add`, `add_`), `root` the same without the mark of in-place operators (`add`),
`overload` a name with overload (`add.Tensor`), `unambiguous` the same as an identifier (`add_Tensor`), `C++ name` the
public C++ function (`add_out`). A `prefix`, `suffix` or `part` stands for all operators whose names have it. A
`kernel` is the name of a C++ function without its namespace.
"""


class Names(NamedTuple):
    """A row of a table: names (separated by spaces) that share a reason and the releases in which they are listed.

    `since` is the first release with these names and `until` the first one without them; None stands for all releases
    known. `value` is what a `NameMap` gives for the names. `absent` marks names that no release known has: they are
    listed because PyTorch lists them too, and so treats an operator that takes such a name.
    """

    text: str
    reason: str
    value: str = ""
    since: str | None = None
    until: str | None = None
    absent: bool = False

    @property
    def names(self) -> list[str]:
        """The names one by one."""
        return self.text.split()


class _Table(Generic[Content]):
    """Rows of names, and their content by release.

    Where PyTorch's generator has the same names in constants, `listed_in` has the names of these: in a tree between
    releases they come before the rows. `value` is that of the names in lists.
    """

    __slots__ = ("_by_rules", "form", "in_any_release", "listed_in", "rows", "value", "what")

    def __init__(
        self,
        what: str,
        *rows: Names,
        form: NameForm = "operator",
        listed_in: tuple[str, ...] = (),
        value: str = "",
    ) -> None:
        self.what: Final = what
        self.rows: Final = rows
        self.form: Final = form
        self.listed_in: Final = listed_in
        self.value: Final = value
        self._by_rules: Final[dict[str, Content]] = {}
        self.in_any_release: Final = self._content(rows)
        """The names of all releases together, for code without rules.

        Using it is right as long as names join and leave the table together with their operators.
        """

    def in_release(self, rules: Rules) -> Content:
        """The names that a release lists."""
        content = self._by_rules.get(rules.identity)
        if content is None:
            content = self._by_rules[rules.identity] = self._content(self._rows_in(rules))
        return content

    def _rows_in(self, rules: Rules) -> Iterable[Names]:
        names = rules.listed_names(self.listed_in) if self.listed_in else None
        if names is None:
            return [row for row in self.rows if is_between(rules.version, row.since, row.until)]
        return [Names(name, "", value=value or self.value) for name, value in names.items()]

    def _content(self, rows: Iterable[Names]) -> Content:
        raise NotImplementedError


class NameTable(_Table[frozenset[str]]):
    """A set of operator names, by release."""

    __slots__ = ()

    def _content(self, rows: Iterable[Names]) -> frozenset[str]:
        return frozenset(name for row in rows for name in row.names)


class NameMap(_Table["Mapping[str, str]"]):
    """Operator names with a text for each, by release."""

    __slots__ = ()

    def _content(self, rows: Iterable[Names]) -> Mapping[str, str]:
        return {name: row.value for row in rows for name in row.names}
