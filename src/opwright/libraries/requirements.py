"""Requirements: what an operator needs of its arguments, as conditions that are checked before its kernel runs.

The dialect of operator libraries reads them from `dims`, `dtypes`, `layout` and `requires`. Emitters print each
condition and its message in every language in the same order, so that all refuse the same calls with the same text.
"""

from __future__ import annotations

import enum
from typing import Final, TypeAlias

from opwright.libraries.declared_outputs import OutputExpression, OutputOperation
from opwright.source.records import NamedTuple

#: What refused calls are told: texts, and expressions whose values are shown.
Message: TypeAlias = "tuple[str | OutputExpression, ...]"


class Requirement(NamedTuple):
    """A condition, and the message for calls that do not fulfil it.

    It is checked where the optional arguments `given` are not None. With `each`, the name of a list of tensors, it is
    checked for each item, whose names in expressions `item_name` and `index_name` give. `written` is a condition as its
    author wrote it. `subject` is what errors say that cannot be computed.
    """

    condition: OutputExpression
    message: Message
    given: tuple[OutputExpression, ...] = ()
    each: str = ""
    written: str = ""
    subject: str = ""

    def arguments(self) -> frozenset[str]:
        """Names of the arguments that the condition and the message read."""
        expressions = [self.condition, *self.given, *[part for part in self.message if not isinstance(part, str)]]
        names = frozenset([self.each]).union(*map(argument_names, expressions))
        return frozenset([name for name in names if name and " " not in name])


def argument_names(expression: OutputExpression) -> frozenset[str]:
    """Names of the arguments in an expression."""
    names = set()
    waiting: list[OutputExpression | None] = [expression]
    for each in waiting:
        if each is not None:
            if each.operation is OutputOperation.argument:
                names.add(each.text)
            waiting += each.operands
    return frozenset(names)


def item_name(tensors: str) -> str:
    """Name of an item of a list of tensors in conditions about each of them. No argument has such a name."""
    return f"opwright {tensors} item"


def index_name(tensors: str) -> str:
    """Name of the index of that item."""
    return f"opwright {tensors} index"


def element_name(tensor: str) -> str:
    """Name of an element of a tensor in conditions on its values."""
    return f"opwright {tensor} element"


def place_name(tensor: str, place: int) -> str:
    """Name of the element at a place of a tensor, which is counted from the end if it is negative."""
    return f"opwright {tensor} at {place}"


#: The words for values of tensors, and what calls are told that do not keep to them.
ORDERS: Final = {
    "ascending": " is not ascending, and has to be",
    "increasing": " is not increasing, and has to be",
    "distinct": " has a value twice, and has to have distinct values",
    "finite": " has a value that is infinite or no number, and has to have finite values",
}


class ValueCondition(NamedTuple):
    """A condition on the values of a tensor.

    `tensor` is the argument, an item of the list `each`, or the value of an optional argument. `written` is one of
    `ORDERS`, or the condition as its author wrote it, over each element or over those at some `places`. Elements are
    integers, or numbers. It is checked where the optional arguments `given` are not None.
    """

    name: str
    tensor: OutputExpression
    written: str
    condition: OutputExpression | None
    places: tuple[int, ...]
    message: Message
    given: tuple[OutputExpression, ...] = ()
    each: str = ""
    is_integer: bool = False
    is_each: bool = False

    def arguments(self) -> frozenset[str]:
        """Names of the arguments that the condition and the message read."""
        parts = [part for part in (self.condition, *self.message) if isinstance(part, OutputExpression)]
        names = frozenset((self.name,)).union(*map(argument_names, (*parts, *self.given)))
        return frozenset([name for name in names if " " not in name])


class DimKind(enum.Enum):
    """What an item of a pattern stands for."""

    named = enum.auto()
    """One dimension, whose size has a name."""
    pack = enum.auto()
    """Any number of dimensions, whose sizes have a name: `*b`. The operator computes each of their elements alone."""
    size = enum.auto()
    """One dimension of a size that is a number or an expression."""
    any = enum.auto()
    """One dimension of any size: `_`."""
    rest = enum.auto()
    """Any number of dimensions of any sizes: `...`."""


class DimItem(NamedTuple):
    """An item of a pattern: its text without marks, and whether the dimensions may also be those that broadcast.

    An item of the kind `size` has the expression of the size.
    """

    kind: DimKind
    text: str
    broadcasts: bool = False
    size: OutputExpression | None = None


class TensorDims(NamedTuple):
    """The pattern of the sizes of a tensor, and how it is written."""

    items: tuple[DimItem, ...]
    text: str

    @property
    def open_place(self) -> int | None:
        """Place of the item that stands for any number of dimensions; None if each item is one."""
        return next((place for place, item in enumerate(self.items) if item.kind in _OPEN), None)

    @property
    def first_pack(self) -> str:
        """Name of the pack that the pattern begins with, if its sizes are the same everywhere; empty if it does not."""
        item = self.items[0] if self.items else None
        return "" if item is None or item.kind is not DimKind.pack or item.broadcasts else item.text

    @property
    def has_pack(self) -> bool:
        """Whether an item stands for any number of dimensions whose elements are computed alone."""
        return _pack(self) is not None

    def places(self) -> tuple[int, ...]:
        """Dimension of each item; those after the one that stands for any number are counted from the end.

        >>> names = [DimItem(DimKind.named, "h"), DimItem(DimKind.pack, "b"), DimItem(DimKind.named, "d")]
        >>> TensorDims(tuple(names), "h *b d").places()
        (0, 1, -1)
        """
        count, open_place = len(self.items), self.open_place
        return tuple([place if open_place is None or place <= open_place else place - count for place in range(count)])


_OPEN: Final = (DimKind.pack, DimKind.rest)


class CopiedArgument(NamedTuple):
    """An argument that a kernel gets in one of some layouts, and what refuses other layouts.

    It gets a copy with the first one where the argument has none of them.
    """

    name: str
    layouts: tuple[str, ...]
    refusal: Requirement


class Requirements(NamedTuple):
    """What an operator needs of its arguments.

    `checks` are the conditions, in their order. `dims` are the patterns of the arguments, and `results` those of the
    results; None where an entry does not say one. Results are linear in the arguments `linear` taken together. The
    results with the names `sums` are sums over the elements that the operator computes alone otherwise. `values` are
    the conditions on the values of tensors.
    """

    checks: tuple[Requirement, ...] = ()
    copied: tuple[CopiedArgument, ...] = ()
    dims: tuple[tuple[str, TensorDims], ...] = ()
    results: tuple[TensorDims | None, ...] = ()
    linear: tuple[str, ...] = ()
    sums: tuple[bool, ...] = ()
    values: tuple[ValueCondition, ...] = ()

    def without(self, arguments: frozenset[str]) -> Requirements:
        """Those of an overload that makes some of the arguments itself."""
        checks = tuple([check for check in self.checks if arguments.isdisjoint(check.arguments())])
        dims = tuple([(name, dims) for name, dims in self.dims if name not in arguments])
        values = tuple([value for value in self.values if arguments.isdisjoint(value.arguments())])
        return self._replace(checks=checks, copied=(), dims=dims, values=values)

    def arguments(self) -> frozenset[str]:
        """Names of the arguments that the conditions read."""
        read = [check.arguments() for check in self.checks]
        return frozenset[str]().union(*read, *[value.arguments() for value in self.values])

    def values_by_tensor(self) -> dict[str, list[ValueCondition]]:
        """The conditions on values of each tensor that has some."""
        conditions: dict[str, list[ValueCondition]] = {}
        for value in self.values:
            conditions.setdefault(value.name, []).append(value)
        return conditions

    def refusing(self, arguments: frozenset[str]) -> Requirements:
        """Those of an overload that gets no copies of some arguments, since it writes to them or returns them."""
        refused = tuple([argument.refusal for argument in self.copied if argument.name in arguments])
        copied = tuple([argument for argument in self.copied if argument.name not in arguments])
        return self._replace(checks=(*self.checks, *refused), copied=copied)

    def loops(self) -> LoopDims | None:
        """Where the dimensions are whose elements the operator computes one by one; None if a result has none of them.

        All results have them, under one name, or are sums over them. The dimensions of other names belong to what is
        computed.
        """
        packs = {pack.text for dims in self.results if dims is not None and (pack := _pack(dims)) is not None}
        packs |= {pack.text for _, dims in self.dims if any(self.sums) and (pack := _pack(dims)) is not None}
        if len(packs) != 1:
            return None
        arguments = {name: place for name, dims in self.dims if (place := _loop_place(dims, packs)) is not None}
        sums = self.sums or (False,) * len(self.results)
        results = [None if dims is None else _loop_place(dims, packs) for dims in self.results]
        if not arguments or any((place is None) != is_sum for place, is_sum in zip(results, sums, strict=True)):
            return None
        return LoopDims(arguments, tuple(results))


class LoopPlace(NamedTuple):
    """Where the dimensions are: after some first ones and before some last ones of a tensor. They may be broadcast."""

    before: int
    after: int
    broadcasts: bool


class LoopDims(NamedTuple):
    """Where the dimensions are in the arguments that have them, by name, and in each result; None for a sum."""

    arguments: dict[str, LoopPlace]
    results: tuple[LoopPlace | None, ...]


def _pack(dims: TensorDims) -> DimItem | None:
    return next((item for item in dims.items if item.kind is DimKind.pack), None)


def _loop_place(dims: TensorDims, names: set[str]) -> LoopPlace | None:
    pack, place = _pack(dims), dims.open_place
    if pack is None or place is None or pack.text not in names:
        return None
    return LoopPlace(place, len(dims.items) - place - 1, pack.broadcasts)
