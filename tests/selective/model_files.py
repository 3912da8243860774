"""Writes model files of ExecuTorch: FlatBuffers with the fields that name operators and their calls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeGuard


@dataclass
class Table:
    """A table: its fields by number."""

    fields: dict[int, int | str | bytes | list[int] | Table | list[Table]] = field(default_factory=dict)


def _is_table(value: object) -> TypeGuard[Table]:
    return isinstance(value, Table)


class Builder:
    """The bytes of a FlatBuffer, from its first table to its last value."""

    def __init__(self, root: Table) -> None:
        self.data = bytearray(b"\0\0\0\0ET12")
        self._put(0, self._table(root))

    def _put(self, place: int, target: int) -> None:
        """Write the distance to a target at a place."""
        self.data[place : place + 4] = (target - place).to_bytes(4, "little")

    def _align(self) -> int:
        self.data.extend(bytes(-len(self.data) % 8))
        return len(self.data)

    def _table(self, table: Table) -> int:
        """Write a table, then all that it refers to, and give its place."""
        count = max(table.fields, default=-1) + 1
        offsets = self._align()
        self.data.extend(bytes(4 + 2 * count))
        start = self._align()
        self.data.extend(bytes(4 + 8 * count))
        self.data[start : start + 4] = (start - offsets).to_bytes(4, "little")
        self.data[offsets : offsets + 2] = (4 + 2 * count).to_bytes(2, "little")
        for number, value in table.fields.items():
            place = start + 4 + 8 * number
            slot = offsets + 4 + 2 * number
            self.data[slot : slot + 2] = (place - start).to_bytes(2, "little")
            self._value(place, value)
        return start

    def _value(self, place: int, value: object) -> None:
        match value:
            case int():
                self.data[place : place + 4] = value.to_bytes(4, "little", signed=True)
            case str():
                self._put(place, self._vector(value.encode(), 1))
            case Table():
                self._put(place, self._table(value))
            case bytes():
                self._put(place, self._vector(value, 1))
            case [Table(), *_] as tables:
                start = self._align()
                self.data.extend(len(tables).to_bytes(4, "little") + bytes(4 * len(tables)))
                for index, table in enumerate(filter(_is_table, tables)):
                    self._put(start + 4 + 4 * index, self._table(table))
                self._put(place, start)
            case list():
                self._put(place, self._vector(b"".join(item.to_bytes(4, "little", signed=True) for item in value), 4))

    def _vector(self, content: bytes, size: int) -> int:
        start = self._align()
        self.data.extend((len(content) // size).to_bytes(4, "little") + content)
        return start


def tensor(dtype: int, order: bytes) -> Table:
    """A value that is a tensor."""
    return Table({0: 5, 1: Table({0: dtype, 3: order})})


def number() -> Table:
    """A value that is an integer."""
    return Table({0: 1, 1: Table()})


def tensors(*indices: int, optional: bool = False) -> Table:
    """A value that is a list of tensors; a missing one has the index -1."""
    return Table({0: 11 if optional else 10, 1: Table({0: list(indices)})})


def plan(operators: Sequence[tuple[str, str]], values: list[Table], calls: Sequence[tuple[int, list[int]]]) -> Table:
    """A plan: operators with their overloads, values, and calls of an operator with values, all by index."""
    instructions = [Table({0: 1, 1: Table({0: operator, 1: arguments})}) for operator, arguments in calls]
    moves = [Table({0: 3, 1: Table({0: 0, 1: 1})})]
    return Table(
        {
            0: "forward",
            2: values,
            5: [Table({2: [*instructions, *moves]})],
            6: [Table({0: name, 1: overload} if overload else {0: name}) for name, overload in operators],
        }
    )


def model(*plans: Table) -> bytes:
    """The bytes of a model file."""
    return bytes(Builder(Table({1: list(plans)})).data)
