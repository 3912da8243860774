"""The dtypes of ufuncs, and sets of them."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator
from typing import Final, Generic, TypeVar

from opwright.dialects.native_functions.ufunc import DTYPE_CLASSES as MODEL_CLASSES
from opwright.dialects.native_functions.ufunc import DTYPES
from opwright.torchgen.interface.faults import Invalid
from opwright.torchgen.interface.keys import UfuncKey
from opwright.torchgen.interface.records import Record, record

Item = TypeVar("Item")


class OrderedSet(Generic[Item]):
    """A set whose items keep the order in which they were added.

    >>> list(OrderedSet("ab") | OrderedSet("ca"))
    ['a', 'b', 'c']
    """

    def __init__(self, iterable: Iterable[Item] | None = None) -> None:
        self.storage: dict[Item, None] = dict.fromkeys(iterable or ())

    def __contains__(self, item: Item) -> bool:
        return item in self.storage

    def __iter__(self) -> Iterator[Item]:
        return iter(self.storage)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OrderedSet) and self.storage.keys() == other.storage.keys()

    def __hash__(self) -> int:
        return hash(frozenset(self.storage))

    def add(self, item: Item) -> None:
        """Add an item."""
        self.storage[item] = None

    def update(self, items: OrderedSet[Item]) -> None:
        """Add all items of another set."""
        self.storage.update(items.storage)

    def copy(self) -> OrderedSet[Item]:
        """A set with the same items."""
        return OrderedSet(self)

    @staticmethod
    def union(*args: OrderedSet[Item]) -> OrderedSet[Item]:
        """The items of all sets, in the order of the sets."""
        return OrderedSet([item for items in args for item in items])

    def __or__(self, other: OrderedSet[Item]) -> OrderedSet[Item]:
        return OrderedSet.union(self, other)

    def __ior__(self, other: OrderedSet[Item]) -> OrderedSet[Item]:
        self.update(other)
        return self


class ScalarType(enum.Enum):
    """A dtype that a ufunc entry may name."""

    _ignore_ = "name_ number_"
    for number_, name_ in enumerate(DTYPES, 1):
        vars()[name_] = number_

    def __str__(self) -> str:
        return self.name

    @staticmethod
    def maybe_parse(value: str) -> ScalarType | None:
        """The dtype of a name; None if there is none."""
        return ScalarType[value] if value in ScalarType.__members__ else None

    @staticmethod
    def parse(value: str) -> ScalarType:
        """The dtype of a name. Raises AssertionError if there is none."""
        if value not in ScalarType.__members__:
            raise Invalid(f"no dtype is named `{value}`")
        return ScalarType[value]

    @staticmethod
    def parse_set(values: str) -> OrderedSet[ScalarType]:
        """The dtypes of a list of names of dtypes and of classes of them."""
        dtypes: OrderedSet[ScalarType] = OrderedSet()
        for word in values.split(", "):
            dtypes.update(DTYPE_CLASSES[word] if word in DTYPE_CLASSES else OrderedSet([ScalarType.parse(word)]))
        return dtypes


#: The names that stand for several dtypes.
DTYPE_CLASSES: Final = {
    name: OrderedSet([ScalarType[dtype] for dtype in dtypes]) for name, dtypes in MODEL_CLASSES.items()
}


@record("name supported_dtypes ufunc_key")
class UfuncInnerLoop(Record):
    """One loop of a ufunc: the C++ function of its body, and the dtypes for which it runs."""

    ufunc_key: UfuncKey
    supported_dtypes: OrderedSet[ScalarType]
    name: str

    @staticmethod
    def parse(value: str, ufunc_key: UfuncKey) -> UfuncInnerLoop:
        """The loop of a text `name (dtype, ...)`. Raises ValueError or AssertionError if it is not one."""
        name, rest = value.split(" ", 1)
        if not (rest.startswith("(") and rest.endswith(")")):
            raise Invalid(f"`{value}` is not a loop such as `add (AllAndComplex, Half)`")
        return UfuncInnerLoop(ufunc_key=ufunc_key, supported_dtypes=ScalarType.parse_set(rest[1:-1]), name=name)
