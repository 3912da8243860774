"""Checks that the operands of instructions refer to something."""

from __future__ import annotations

from collections.abc import Sequence

from opwright.dialects.upgraders.op_codes import OP_CODES
from opwright.model.upgraders import Instruction, Upgrader
from opwright.source import codes
from opwright.source.diagnostic import Diagnostics
from opwright.source.nodes import Node

__all__ = ["check_operands"]


def check_operands(upgrader: Upgrader, rows: Sequence[Sequence[Node]], sink: Diagnostics) -> None:
    """Report operands that refer to no operator, register, constant, type or instruction.

    `rows` are the nodes of each instruction: op code and operands.
    """
    for position, (instruction, row) in enumerate(zip(upgrader.instructions, rows, strict=True)):
        fault = _fault(upgrader, position, instruction)
        if fault:
            sink.error(codes.OUT_OF_RANGE, f"`{instruction.code}` in `{upgrader.name}`: {fault}", row[1].span)


def _fault(upgrader: Upgrader, position: int, instruction: Instruction) -> str:
    """What is wrong with the first operand of an instruction; empty if nothing is."""
    code, first, second = instruction
    letters = OP_CODES[code]
    # Some op codes use as many items as their second operand says.
    last = first + max(second, 1) - 1 if code in ("STOREN", "ISINSTANCE", "TYPECHECK") else first
    match letters[:1]:
        case "O":
            return _outside(first, last, len(upgrader.operators), "called operator")
        case "C":
            return _outside(first, last, len(upgrader.constants), "constant")
        case "T":
            return _outside(first, last, len(upgrader.types), "type")
        case "R" if not 1 <= first <= last <= upgrader.register_size:
            return f"there is no register {last if first >= 1 else first}, only 1 to {upgrader.register_size}"
        case "P" if not 0 <= position + first < len(upgrader.instructions):
            return f"a jump by {first} leaves the instructions"
    return ""


def _outside(first: int, last: int, count: int, noun: str) -> str:
    if 0 <= first <= last < count:
        return ""
    return f"there is no {noun} {last if first >= 0 else first}; {_numbers(count, noun)}"


def _numbers(count: int, noun: str) -> str:
    if count == 0:
        return f"there is no {noun} at all"
    return f"there is one {noun}, number 0" if count == 1 else f"the {noun}s are 0 to {count - 1}"
