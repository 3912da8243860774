"""What a table of behaviours is to those who ask: the values of its rows in a release, or in a tree between two."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from opwright.model.dispatch_key import LEARNED_KEYS, DispatchKey
from opwright.release.behaviour import Behaviour
from opwright.release.version import NEWEST, OLDEST, Version

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from opwright.release.tables import ShimTables
    from opwright.release.tree_facts import TreeFacts

#: The constants of PyTorch's generator that list the operators whose derivatives hold for complex tensors.
COMPLEX_GRADIENTS: Final = ("GRADIENT_IMPLEMENTED_FOR_COMPLEX", "GRADIENT_IMPLEMENTED_FOR_SPARSE_COMPLEX")


def series_followed(version: Version) -> str | None:
    """The release whose rules a version follows: its own or the newest one known; None if it is too old.

    >>> series_followed(Version(2, 13, 1)), series_followed(Version(2, 3))
    ('2.13', None)
    >>> series_followed(Version(3, 0)) == NEWEST.series
    True
    """
    if version < OLDEST:
        return None
    return min(version, NEWEST, key=lambda version: version[:2]).series


class BehaviourTable:
    """A table whose rows are the attributes of its subclass, with the value of each row in a release.

    A tree between releases has `tree` facts of its own, which come before those of its version. Frozen and hashable;
    the rules of two patch releases of a series are equal.
    """

    version: Version
    """The release whose rules these are."""

    _values: dict[str, int]

    tree: TreeFacts | None

    identity: str
    """A short text that differs from that of other rules."""

    def __init__(self, version: Version, tree: TreeFacts | None = None) -> None:
        values = {row.name: row.value_in(version) for row in self.rows()}
        values.update({} if tree is None else tree.values)
        identity = str(version) if tree is None else f"{version} {tree.digest}"
        self.__dict__.update(values, version=version, tree=tree, identity=identity, _values=values)

    @classmethod
    def rows(cls) -> Iterator[Behaviour[bool] | Behaviour[int]]:
        """Every row of the table, in its order."""
        return (row for row in vars(cls).values() if isinstance(row, Behaviour))

    def items(self) -> tuple[tuple[str, bool | int], ...]:
        """The name and value of every behaviour in this release."""
        return tuple(self._values.items())

    def value(self, name: str) -> int:
        """The value of the behaviour that a row of another table names, such as that of a dispatch key.

        >>> from opwright.release.rules import Rules
        >>> Rules(Version(2, 13)).value("register_cpu_shards")
        4
        """
        return self._values[name]

    @property
    def complex_gradients(self) -> frozenset[str]:
        """The operators whose derivative formulas are valid for complex tensors, by name without overload."""
        names = self.listed_names(COMPLEX_GRADIENTS)
        if names is not None:
            return frozenset(names)
        from opwright.release.tables import complex_gradients

        return complex_gradients(self.version)

    def listed_names(self, constants: Iterable[str]) -> Mapping[str, str] | None:
        """The names that these constants of a tree's generator list; None for releases, and if one cannot be read."""
        return None if self.tree is None else self.tree.listed_names(constants)

    @property
    def operators(self) -> frozenset[str]:
        """PyTorch's own operators, by the names of their headers."""
        from opwright.release.tables import operators

        return operators(self.version)

    @property
    def shim_tables(self) -> ShimTables:
        """The operators with a C shim, for inputs without tables of their own."""
        from opwright.release.tables import shim_tables

        return shim_tables(self.version, bool(self.value("shims_are_guarded")))

    @property
    def formula_helpers(self) -> frozenset[str]:
        """The functions that derivative formulas can call besides operators."""
        from opwright.release.tables import formula_helper_names

        return formula_helper_names(self.version)

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
