"""How a generated file differs from a vendor's."""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tests.vendor_replay.items import Item, items_of


class Verdict(enum.Enum):
    """How like the vendor's file a generated one is."""

    identical = "identical"
    layout = "equal up to layout"
    order = "equal up to order"
    different = "different"
    missing = "missing"


class DifferenceKind(enum.Enum):
    """What is other about an item."""

    parameter = "a parameter has another name"
    default = "a default argument is another one"
    signature = "the signature is another one"
    elsewhere = "the declaration is in another place"
    theirs = "only the vendor has it"
    ours = "only Opwright has it"


class Difference(NamedTuple):
    """An item that only one of the two files has, or that is another one in each: the vendor's, and ours."""

    kind: DifferenceKind
    theirs: Item | None
    ours: Item | None

    @property
    def name(self) -> str:
        """The name of the function that is declared, or the text of the item."""
        item = self.theirs or self.ours
        assert item is not None
        return item.name or item.text


class FileComparison(NamedTuple):
    """The comparison of a file: how many functions the vendor declares, and how many of them are equal."""

    path: str
    verdict: Verdict
    functions: int
    equal: int
    differences: tuple[Difference, ...] = ()


def compare_file(path: str, theirs: str, ours: str | None) -> FileComparison:
    """The comparison of a vendor's file with the generated one, None if there is none."""
    wanted = items_of(path, theirs)
    functions = _count(wanted)
    if ours is None:
        return FileComparison(path, Verdict.missing, functions, 0)
    if theirs == ours:
        return FileComparison(path, Verdict.identical, functions, functions)
    made = items_of(path, ours)
    if wanted == made:
        return FileComparison(path, Verdict.layout, functions, functions)
    lacking, extra = Counter(wanted) - Counter(made), Counter(made) - Counter(wanted)
    if not lacking and not extra:
        return FileComparison(path, Verdict.order, functions, functions)
    differences = _differences([*lacking.elements()], [*extra.elements()])
    return FileComparison(path, Verdict.different, functions, functions - _count([*lacking.elements()]), differences)


def compare_files(theirs: Mapping[str, str], ours: Mapping[str, str]) -> list[FileComparison]:
    """The comparison of each of the vendor's files, by path. A declaration may move between files."""
    comparisons = [compare_file(path, text, ours.get(path)) for path, text in theirs.items()]
    extra = {item for comparison in comparisons for item in _items(comparison, DifferenceKind.ours)}
    moved = extra & {item for comparison in comparisons for item in _items(comparison, DifferenceKind.theirs)}
    return [_with_moved(comparison, moved) for comparison in comparisons]


def _count(items: Sequence[Item]) -> int:
    """How many of the items are counted."""
    return sum(item.is_counted for item in items)


def _differences(theirs: list[Item], ours: list[Item]) -> tuple[Difference, ...]:
    """The differences, where items of one name and scope are each other's."""
    differences = []
    for item in theirs:
        same = [other for other in ours if item.name and (other.scope, other.name) == (item.scope, item.name)]
        other = min(same, key=lambda other: _distance(item, other), default=None)
        if other is None:
            differences.append(Difference(DifferenceKind.theirs, item, None))
        else:
            ours.remove(other)
            differences.append(Difference(_kind(item, other), item, other))
    return (*differences, *[Difference(DifferenceKind.ours, None, item) for item in ours])


def _distance(item: Item, other: Item) -> int:
    """How many words two items do not have in common."""
    words, others = Counter(item.text.split()), Counter(other.text.split())
    return (words - others).total() + (others - words).total()


def _kind(item: Item, other: Item) -> DifferenceKind:
    theirs, ours = _parameters(item), _parameters(other)
    if theirs[0] != ours[0] or [type for type, *_ in theirs[1]] != [type for type, *_ in ours[1]]:
        return DifferenceKind.signature
    if [name for _, name, _ in theirs[1]] != [name for _, name, _ in ours[1]]:
        return DifferenceKind.parameter
    return DifferenceKind.default


def _parameters(item: Item) -> tuple[str, list[tuple[str, str, str]]]:
    """What is around the parameters of a declaration, and the type, name and default of each."""
    before, _, rest = item.text.partition(f"{item.name} (")
    inside, _, after = rest.rpartition(")")
    parameters, start, depth = [], 0, 0
    for at, character in enumerate(inside):
        depth += character in "(<{"
        depth -= character in ")>}"
        if character == "," and not depth:
            parameters.append(inside[start:at])
            start = at + 1
    parameters.append(inside[start:])
    return before + after, [_parameter(text.strip()) for text in parameters if text.strip()]


def _parameter(text: str) -> tuple[str, str, str]:
    declared, _, default = text.partition(" = ")
    type, _, name = declared.strip().rpartition(" ")
    return type, name, default


def _items(comparison: FileComparison, kind: DifferenceKind) -> list[Item | None]:
    return [difference.theirs or difference.ours for difference in comparison.differences if difference.kind is kind]


def _with_moved(comparison: FileComparison, moved: set[Item | None]) -> FileComparison:
    """A comparison in which items that stand in another file are marked."""
    differences = [
        difference._replace(kind=DifferenceKind.elsewhere)
        if (difference.theirs or difference.ours) in moved and not (difference.theirs and difference.ours)
        else difference
        for difference in comparison.differences
    ]
    return comparison._replace(differences=tuple(differences))
