"""Behaviours that differ between releases, and a table of them.

A row has the values of a behaviour, the releases of its changes, and their reasons. A table has the value of each row
in a release, or in a tree between two.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Generic, TypeVar, overload

from opwright.model.dispatch_key import LEARNED_KEYS, DispatchKey
from opwright.release.version import OLDEST, Mark, Version, parse_version

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from opwright.release.tables import ShimTables
    from opwright.release.tree_facts import TreeFacts

BehaviourValue = TypeVar("BehaviourValue", bound=int)

#: The constants of PyTorch's generator that list the operators whose derivatives hold for complex tensors.
COMPLEX_GRADIENTS: Final = ("GRADIENT_IMPLEMENTED_FOR_COMPLEX", "GRADIENT_IMPLEMENTED_FOR_SPARSE_COMPLEX")


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
    def __get__(self, rules: BehaviourTable, owner: type) -> BehaviourValue: ...

    def __get__(self, rules: BehaviourTable | None, owner: type) -> Behaviour[BehaviourValue] | BehaviourValue:
        # Only the class asks this way: an instance holds the value itself, which Python finds before this row.
        return self if rules is None else self.value_in(rules.version)

    def value_in(self, version: Version) -> BehaviourValue:
        """The value in a release. Releases newer than those known have the value of the newest one."""
        return self.last_change(version).value

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

    def last_change(self, version: Version) -> Change[BehaviourValue]:
        """The last change up to and with a release."""
        series = version[:2]
        last = self.changes[0]
        for change in self.changes:
            if change.series <= series:
                last = change
        return last


def from_release(since: str, what: str, why: str, mark: Mark | None = None) -> Behaviour[bool]:
    """A behaviour that starts in this release. Trees that have it have the mark."""
    return Behaviour(what, Change(OLDEST.series, False, ""), Change(since, True, why, mark))


def until_release(until: str, what: str, why: str, mark: Mark | None = None) -> Behaviour[bool]:
    """A behaviour that ends in this release. Trees that have it no more have the mark."""
    return Behaviour(what, Change(OLDEST.series, True, ""), Change(until, False, why, mark))


def shards(count: int, what: str, *changes: Change[int]) -> Behaviour[int]:
    """A number of shards, which may change."""
    why = "" if changes else "More and smaller files compile in parallel."
    return Behaviour(what, Change(OLDEST.series, count, why), *changes)


class BehaviourTable:
    """A table whose rows are the attributes of its subclass, with the value of each row in a release.

    A tree between releases has `tree` facts of its own, which come before those of its version. Frozen and hashable;
    the rules of two patch releases of a series are equal.
    """

    version: Version
    """The release whose rules these are."""

    tree: TreeFacts | None

    identity: str
    """A short text that differs from that of other rules."""

    def __init__(self, version: Version, tree: TreeFacts | None = None) -> None:
        values = {row.name: row.value_in(version) for row in self.rows()}
        values.update({} if tree is None else tree.values)
        identity = str(version) if tree is None else f"{version} {tree.digest}"
        self.__dict__.update(values, version=version, tree=tree, identity=identity)

    @classmethod
    def rows(cls) -> Iterator[Behaviour[bool] | Behaviour[int]]:
        """Every row of the table, in its order."""
        return (row for row in vars(cls).values() if isinstance(row, Behaviour))

    def value(self, name: str) -> int:
        """The value of the behaviour that a row of another table names, such as that of a dispatch key.

        >>> from opwright.release.rules import Rules
        >>> Rules(Version(2, 13)).value("register_cpu_shards")
        4
        """
        value: int = getattr(self, name)
        return value

    @property
    def _series(self) -> Version:
        """The version without its patch number: patch releases share their tables."""
        return Version(*self.version[:2])

    @property
    def complex_gradients(self) -> frozenset[str]:
        """The operators whose derivative formulas are valid for complex tensors, by name without overload.

        >>> from opwright.release.rules import Rules
        >>> ["ldexp" in Rules(Version(2, minor)).complex_gradients for minor in (10, 11)]
        [False, True]
        """
        names = self.listed_names(COMPLEX_GRADIENTS)
        if names is not None:
            return frozenset(names)
        from opwright.release.tables import names_in

        return names_in("complex_gradients.txt", self._series)

    def listed_names(self, constants: Iterable[str]) -> Mapping[str, str] | None:
        """The names that these constants of a tree's generator list; None for releases, and if one cannot be read."""
        return None if self.tree is None else self.tree.listed_names(constants)

    @property
    def operators(self) -> frozenset[str]:
        """PyTorch's own operators, by the names of their headers."""
        from opwright.release.tables import operators

        return operators(self._series)

    @property
    def shim_tables(self) -> ShimTables:
        """The operators with a C shim, for inputs without tables of their own."""
        from opwright.release.tables import shim_tables

        return shim_tables(self._series, bool(self.value("shims_are_guarded")))

    @property
    def formula_helpers(self) -> frozenset[str]:
        """The functions that derivative formulas can call besides operators."""
        from opwright.release.tables import formula_helper_names

        return formula_helper_names(self._series)

    def has_key(self, key: DispatchKey) -> bool:
        """Whether entries may name a key: one that a tree lists, or, if that cannot be told, one that has a row."""
        if self.tree is None or not self.tree.keys:
            return key.name not in LEARNED_KEYS and (not key.rule or bool(self.value(key.rule)))
        return any(row.name == key.name for row in self.tree.keys)

    def has_functions_header(self, key: DispatchKey) -> bool:
        """Whether a key has a header of functions that are called without the dispatcher."""
        return self._holds_for("has_functions_header", key)

    def has_c_shim(self, key: DispatchKey) -> bool:
        """Whether a key has C shims."""
        return self._holds_for("has_c_shim", key)

    def _holds_for(self, attribute: str, key: DispatchKey) -> bool:
        """Whether an attribute holds for a key: what a tree says of it, else its row."""
        names = None if self.tree is None else self.tree.key_sets.get(attribute)
        return key.name in names if names is not None else bool(getattr(key, attribute))

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"rules are frozen: cannot set {name!r}")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"rules are frozen: cannot delete {name!r}")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BehaviourTable) and (self.version[:2], self.tree) == (other.version[:2], other.tree)

    def __hash__(self) -> int:
        return hash(self.version[:2])

    def __reduce__(self) -> tuple[type[BehaviourTable], tuple[Version, TreeFacts | None]]:
        return type(self), (self.version, self.tree)

    def __repr__(self) -> str:
        return f"Rules({self.identity})"
