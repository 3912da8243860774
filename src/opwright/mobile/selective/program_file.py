"""Operators of a model file of ExecuTorch, and the dtypes with which it calls them.

The file is a FlatBuffer: tables whose fields are found through a table of offsets. This reader knows just the fields on
the way to the calls of kernels, by their numbers in ExecuTorch's schema/program.fbs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, TypeVar

from opwright.mobile.mobile_codes import MODEL_DAMAGED
from opwright.mobile.selective.files import Files
from opwright.source.records import NamedTuple

#: The bytes from the fifth on in each model file.
IDENTIFIER: Final = b"ET12"

# Fields by their numbers in program.fbs. A union has two: its type, then its value.
_PROGRAM_PLANS: Final = 1
_PLAN_VALUES: Final = 2
_PLAN_CHAINS: Final = 5
_PLAN_OPERATORS: Final = 6
_CHAIN_INSTRUCTIONS: Final = 2
_OPERATOR_NAME, _OPERATOR_OVERLOAD = 0, 1
_UNION_TYPE, _UNION_VALUE = 0, 1
_CALL_OPERATOR, _CALL_ARGUMENTS = 0, 1
_TENSOR_DTYPE, _TENSOR_ORDER = 0, 3
_LIST_ITEMS: Final = 0

# Members of the unions `InstructionArguments` and `KernelTypes`.
_KERNEL_CALL: Final = 1
_TENSOR: Final = 5
_TENSOR_LISTS: Final = (10, 11)


Element = TypeVar("Element")


class _Damaged(Exception):
    """The bytes are no model file."""


class _Table(NamedTuple):
    data: bytes
    start: int

    def _number(self, start: int, size: int, *, signed: bool = False) -> int:
        if not 0 <= start <= len(self.data) - size:
            raise _Damaged
        return int.from_bytes(self.data[start : start + size], "little", signed=signed)

    def _field(self, number: int) -> int | None:
        """Where a field is; None if the table leaves it out."""
        offsets = self.start - self._number(self.start, 4, signed=True)
        place = 4 + 2 * number
        offset = self._number(offsets + place, 2) if place + 2 <= self._number(offsets, 2) else 0
        return self.start + offset if offset else None

    def integer(self, number: int, size: int = 4) -> int:
        """An integer field."""
        place = self._field(number)
        return 0 if place is None else self._number(place, size, signed=True)

    def table(self, number: int) -> _Table:
        """A field that is a table."""
        place = self._field(number)
        if place is None:
            raise _Damaged
        return _Table(self.data, place + self._number(place, 4))

    def _vector(self, number: int, size: int) -> tuple[int, int]:
        """Start and the length of a field that is a vector with elements of a size."""
        place = self._field(number)
        if place is None:
            return 0, 0
        start = place + self._number(place, 4)
        length = self._number(start, 4)
        if start + 4 + length * size > len(self.data):
            raise _Damaged
        return start + 4, length

    def text(self, number: int) -> str:
        """A field that is a text."""
        start, length = self._vector(number, 1)
        try:
            return self.data[start : start + length].decode()
        except ValueError:
            raise _Damaged from None

    def integers(self, number: int, size: int) -> list[int]:
        """A field that is a vector of integers."""
        start, length = self._vector(number, size)
        return [self._number(start + size * index, size, signed=size > 1) for index in range(length)]

    def tables(self, number: int) -> list[_Table]:
        """A field that is a vector of tables."""
        start, length = self._vector(number, 4)
        places = [start + 4 * index for index in range(length)]
        return [_Table(self.data, place + self._number(place, 4)) for place in places]


def operators_of(data: bytes, path: str, files: Files) -> dict[str, list[str]]:
    """Qualified names of the operators of a model, each with the kernel keys of its calls, sorted.

    The key of a call without tensors is `v1`.
    """
    try:
        if data[4:8] != IDENTIFIER:
            raise _Damaged
        program = _Table(data, int.from_bytes(data[:4], "little"))
        keys: dict[str, set[str]] = {}
        for plan in program.tables(_PROGRAM_PLANS):
            for name, key in _calls(plan, keys):
                keys[name].add(key)
    except (_Damaged, IndexError):
        files.refuse(MODEL_DAMAGED, f"`{path}` is not a model file of ExecuTorch, or is damaged")
        return {}
    return {name: sorted(operator_key) for name, operator_key in sorted(keys.items())}


def _calls(plan: _Table, keys: dict[str, set[str]]) -> Iterator[tuple[str, str]]:
    """Operator and the kernel key of each call of a kernel in a plan; `keys` gets all operators of the plan."""
    names = []
    for operator in plan.tables(_PLAN_OPERATORS):
        name, overload = operator.text(_OPERATOR_NAME), operator.text(_OPERATOR_OVERLOAD)
        names.append(f"{name}.{overload}" if overload else name)
        keys.setdefault(names[-1], set())
    values = plan.tables(_PLAN_VALUES)
    for chain in plan.tables(_PLAN_CHAINS):
        for instruction in chain.tables(_CHAIN_INSTRUCTIONS):
            if instruction.integer(_UNION_TYPE, 1) == _KERNEL_CALL:
                call = instruction.table(_UNION_VALUE)
                tensors = [
                    tensor
                    for index in call.integers(_CALL_ARGUMENTS, 4)
                    for tensor in _tensors(values, _at(values, index))
                ]
                key = f"v1/{'|'.join(tensors)}" if tensors else "v1"
                yield _at(names, call.integer(_CALL_OPERATOR)), key


def _at(items: Sequence[Element], index: int) -> Element:
    if not 0 <= index < len(items):
        raise _Damaged
    return items[index]


def _tensors(values: list[_Table], value: _Table) -> list[str]:
    """Part of a kernel key that an argument gives: dtype and dim order of a tensor, or of the first of a list."""
    kind = value.integer(_UNION_TYPE, 1)
    if kind in _TENSOR_LISTS:
        indices = value.table(_UNION_VALUE).integers(_LIST_ITEMS, 4)
        # Missing tensors of a list have the index -1.
        present = [index for index in indices if index >= 0]
        if not present:
            return []
        value = _at(values, present[0])
        if value.integer(_UNION_TYPE, 1) != _TENSOR:
            raise _Damaged
    elif kind != _TENSOR:
        return []
    tensor = value.table(_UNION_VALUE)
    order = ",".join(map(str, tensor.integers(_TENSOR_ORDER, 1)))
    return [f"{tensor.integer(_TENSOR_DTYPE, 1)};{order}"]
