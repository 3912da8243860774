"""Upgraders: functions in bytecode that let operators of old mobile models run on the operators of today."""

from __future__ import annotations

from typing import TypeAlias

from opwright.source.records import NamedTuple

Constant: TypeAlias = "str | bool | int | None"
"""A constant of bytecode."""


class Instruction(NamedTuple):
    """One instruction of bytecode with its two operands."""

    code: str
    first: int
    second: int


class CalledOperator(NamedTuple):
    """An operator that bytecode calls, with the number of arguments that it passes."""

    name: str
    overload: str
    arguments: int


class Upgrader(NamedTuple):
    """One function in bytecode. Instructions refer to the other tables by index."""

    name: str
    instructions: tuple[Instruction, ...]
    constants: tuple[Constant, ...]
    types: tuple[str, ...]
    operators: tuple[CalledOperator, ...]
    register_size: int


class UpgraderRange(NamedTuple):
    """Upgrader for an operator in models of some versions, the first and the last of which are given."""

    upgrader: str
    first: int
    last: int


class UpgraderTables(NamedTuple):
    """All upgraders, and the upgraders of each operator, as `aten::name.overload`; both in the order of the file."""

    upgraders: tuple[Upgrader, ...]
    operators: dict[str, tuple[UpgraderRange, ...]]
