"""Loads bytecode files, and checks that the parts of each upgrader fit."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Final, TypeVar

from opwright.dialects.dialect import LoadContext
from opwright.dialects.field import Field
from opwright.mobile import mobile_codes
from opwright.mobile.upgrader_tables import (
    CalledOperator,
    Constant,
    Instruction,
    Upgrader,
    UpgraderRange,
    UpgraderTables,
)
from opwright.mobile.upgraders.fields import (
    COUNTS,
    FILE_FIELDS,
    FIRST_OPERANDS,
    LEFT_OUT_UPGRADERS,
    OP_CODES,
    OPERATOR_FIELDS,
    SECOND_OPERANDS,
    UPGRADER_FIELDS,
    is_left_out,
)
from opwright.source.diagnostic import Diagnostics, did_you_mean
from opwright.source.expect import check_unique_keys, expect_integer, expect_mapping, expect_sequence, expect_string
from opwright.source.nodes import MappingNode, Node, Scalar, SequenceNode, did_you_mean_key
from opwright.source.text import SourceFile
from opwright.source.yaml import load_yaml


def check_operands(upgrader: Upgrader, rows: Sequence[Sequence[Node]], sink: Diagnostics) -> None:
    """Report operands that refer to no operator, register, constant, type or instruction.

    `rows` are the nodes of each instruction: op code and operands.
    """
    for position, (instruction, row) in enumerate(zip(upgrader.instructions, rows, strict=True)):
        fault = _fault(upgrader, position, instruction)
        if fault:
            sink.error(mobile_codes.OUT_OF_RANGE, f"`{instruction.code}` in `{upgrader.name}`: {fault}", row[1].span)


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
    few = {0: f"there is no {noun} at all", 1: f"there is one {noun}, number 0"}
    return f"there is no {noun} {last if first >= 0 else first}; {few.get(count, f'the {noun}s are 0 to {count - 1}')}"


#: Characters that a C++ literal cannot have as they are.
_UNQUOTABLE: Final = {'"': "a quote", "\\": "a backslash", "\n": "a line break", "\r": "a line break"}

Item = TypeVar("Item")


def load(files: Sequence[SourceFile], context: LoadContext) -> UpgraderTables:
    """Tables of a bytecode file; faults go to the sink of the context."""
    return load_upgraders(files[0], context.sink)


def load_upgraders(file: SourceFile, sink: Diagnostics) -> UpgraderTables:
    """Tables of a bytecode file; faults go to `sink`, and what has faults is left out."""
    root = expect_mapping(load_yaml(file), "a bytecode file", sink)
    if root is None:
        return UpgraderTables((), {})
    fields = _fields(root, FILE_FIELDS, "a bytecode file", None, sink)
    upgraders: list[Upgrader] = []
    names: list[str] = []
    for name, node in _entries(fields.get("upgraders"), "`upgraders`", sink):
        names.append(name.value)
        upgrader = _upgrader(name, node, sink)
        if upgrader is not None:
            upgraders.append(upgrader)
    operators = {}
    for name, node in _entries(fields.get("operators"), "`operators`", sink):
        ranges = _operator(name, node, names, sink)
        if ranges is not None:
            operators[name.value] = ranges
    return UpgraderTables(tuple(upgraders), operators)


def _entries(node: Node | None, what: str, sink: Diagnostics) -> Iterator[tuple[Scalar, Node]]:
    """Entries of a mapping whose keys are names."""
    mapping = None if node is None else expect_mapping(node, what, sink)
    if mapping is None:
        return
    check_unique_keys(mapping, sink)
    for key, value in mapping.entries:
        _check_text(key, sink)
        yield key, value


def _fields(
    mapping: MappingNode, known_fields: tuple[Field, ...], what: str, name: Scalar | None, sink: Diagnostics
) -> dict[str, Node]:
    """Fields of a mapping by name; unknown and missing ones are reported, the latter at the name."""
    check_unique_keys(mapping, sink)
    field_names = [field.name for field in known_fields]
    fields: dict[str, Node] = {}
    for key, value in mapping.entries:
        if key.value in field_names:
            fields.setdefault(key.value, value)
        else:
            message, help = f"{what} has no field `{key.value}`", did_you_mean_key(key, mapping, field_names)
            sink.error(mobile_codes.BYTECODE_UNKNOWN_FIELD, message, key.span, help=help)
    for field in field_names:
        if field not in fields:
            at = (name or mapping).span
            sink.error(mobile_codes.MISSING_FIELD, f"{what} has no `{field}`", at, label=f"`{field}` is missing")
    return fields


def _upgrader(name: Scalar, node: Node, sink: Diagnostics) -> Upgrader | None:
    mapping = expect_mapping(node, f"upgrader `{name.value}`", sink)
    if mapping is None:
        return None
    fields = _fields(mapping, UPGRADER_FIELDS, f"upgrader `{name.value}`", name, sink)
    instructions = _items(fields.get("instructions"), "`instructions`", _instruction, sink)
    constants = _items(fields.get("constants"), "`constants`", _constant, sink)
    types = _items(fields.get("types"), "`types`", _text, sink)
    operators = _items(fields.get("operators"), "`operators`", _called_operator, sink)
    size = fields.get("register_size")
    registers = None if size is None else _number(size, "`register_size`", COUNTS, sink)
    if instructions is None or constants is None or types is None or operators is None or registers is None:
        return None
    upgrader = Upgrader(
        name.value,
        tuple([instruction for instruction, _ in instructions]),
        tuple([constant for constant, _ in constants]),
        tuple([text for text, _ in types]),
        tuple([operator for operator, _ in operators]),
        registers,
    )
    check_operands(upgrader, [row.items for _, row in instructions if isinstance(row, SequenceNode)], sink)
    return upgrader


def _items(
    node: Node | None, what: str, read: Callable[[Node, Diagnostics], tuple[Item] | None], sink: Diagnostics
) -> list[tuple[Item, Node]] | None:
    """Items of a list with their nodes; None if the list is missing or an item has a fault."""
    sequence = None if node is None else expect_sequence(node, what, sink)
    if sequence is None:
        return None
    values = [(read(item, sink), item) for item in sequence.items]
    sound = [(value[0], item) for value, item in values if value is not None]
    return sound if len(sound) == len(values) else None


def _row(node: Node, length: int, what: str, sink: Diagnostics) -> tuple[Node, ...] | None:
    sequence = expect_sequence(node, what, sink)
    if sequence is None:
        return None
    count = len(sequence.items)
    if count == length:
        return tuple(sequence.items)
    noun = "item" if count == 1 else "items"
    sink.error(mobile_codes.INSTRUCTION_FORM, f"{what} has {count} {noun}, not {length}", node.span)
    return None


def _instruction(node: Node, sink: Diagnostics) -> tuple[Instruction] | None:
    row = _row(node, 3, "an instruction", sink)
    if row is None:
        return None
    code = expect_string(row[0], "an op code", sink)
    if code is not None and code.value not in OP_CODES:
        help = did_you_mean(code.value, OP_CODES)
        sink.error(mobile_codes.UNKNOWN_OP_CODE, f"there is no op code `{code.value}`", code.span, help=help)
        code = None
    first = _number(row[1], "an operand", FIRST_OPERANDS, sink)
    second = _number(row[2], "an operand", SECOND_OPERANDS, sink)
    return None if code is None or first is None or second is None else (Instruction(code.value, first, second),)


def _number(node: Node, what: str, numbers: range, sink: Diagnostics) -> int | None:
    """Value of an integer that is one of some numbers."""
    number = expect_integer(node, what, sink)
    if number is not None and number not in numbers:
        message = f"{what} is {number}, not a number from {numbers[0]} to {numbers[-1]}"
        sink.error(mobile_codes.OUT_OF_RANGE, message, node.span)
        return None
    return number


def _constant(node: Node, sink: Diagnostics) -> tuple[Constant] | None:
    if isinstance(node, Scalar) and node.kind in ("str", "bool", "int", "null"):
        if node.kind == "str" and not _check_text(node, sink):
            return None
        value = node.python_value()
        if value is None or isinstance(value, str | bool | int):
            return (value,)
    message = f"a constant is {node.description}; only texts, booleans, integers and `null` can be constants"
    sink.error(mobile_codes.CONSTANT_TYPE, message, node.span)
    return None


def _text(node: Node, sink: Diagnostics) -> tuple[str] | None:
    text = expect_string(node, "a type", sink)
    return (text.value,) if text is not None and _check_text(text, sink) else None


def _check_text(text: Scalar, sink: Diagnostics) -> bool:
    """Report a text that a C++ literal cannot have, and tell whether it can."""
    for character, what in _UNQUOTABLE.items():
        if character in text.value:
            sink.error(mobile_codes.UNQUOTABLE_TEXT, f"a text has {what}, which C++ literals cannot have", text.span)
            return False
    return True


def _called_operator(node: Node, sink: Diagnostics) -> tuple[CalledOperator] | None:
    row = _row(node, 3, "an operator", sink)
    if row is None:
        return None
    name = expect_string(row[0], "the name of an operator", sink)
    overload = expect_string(row[1], "an overload", sink)
    count = _number(row[2], "a number of arguments", COUNTS, sink)
    if name is None or overload is None or count is None:
        return None
    is_sound = [_check_text(text, sink) for text in (name, overload)]
    return (CalledOperator(name.value, overload.value, count),) if all(is_sound) else None


def _operator(
    name: Scalar, node: Node, upgrader_names: Collection[str], sink: Diagnostics
) -> tuple[UpgraderRange, ...] | None:
    """Upgraders of an operator with their ranges, or None if they have faults."""
    mapping = expect_mapping(node, f"operator `{name.value}`", sink)
    if mapping is None:
        return None
    fields = _fields(mapping, OPERATOR_FIELDS, f"operator `{name.value}`", name, sink)
    upgraders = _items(fields.get("upgraders"), "`upgraders`", _text, sink)
    ranges = _items(fields.get("ranges"), "`ranges`", _range, sink)
    if upgraders is None or ranges is None:
        return None
    if not is_left_out(name.value):
        for upgrader, place in upgraders:
            _check_upgrader(upgrader, place, upgrader_names, sink)
    if len(upgraders) != len(ranges):
        message = f"operator `{name.value}` has {_count(upgraders, 'upgrader')}, but {_count(ranges, 'range')}"
        sink.error(mobile_codes.RANGES_DIFFER, message, fields["ranges"].span)
        return None
    if len(upgraders) > 1:
        message = f"PyTorch's program writes the {len(upgraders)} upgraders of `{name.value}` without commas"
        sink.warning(mobile_codes.SEVERAL_UPGRADERS, message, fields["upgraders"].span)
    return tuple(
        [UpgraderRange(upgrader, *bounds) for (upgrader, _), (bounds, _) in zip(upgraders, ranges, strict=True)]
    )


def _count(items: Sequence[object], noun: str) -> str:
    return f"{len(items)} {noun}" if len(items) == 1 else f"{len(items)} {noun}s"


def _check_upgrader(name: str, place: Node, upgrader_names: Collection[str], sink: Diagnostics) -> None:
    """Report an upgrader that has no place in the generated table."""
    if name in LEFT_OUT_UPGRADERS:
        message = f"PyTorch leaves out upgrader `{name}`, so no operator can refer to it"
        sink.error(mobile_codes.UNKNOWN_UPGRADER, message, place.span)
    elif name not in upgrader_names:
        message = f"there is no upgrader `{name}`"
        sink.error(mobile_codes.UNKNOWN_UPGRADER, message, place.span, help=did_you_mean(name, upgrader_names))


def _range(node: Node, sink: Diagnostics) -> tuple[tuple[int, int]] | None:
    row = _row(node, 2, "a range", sink)
    if row is None:
        return None
    first, last = [_number(item, "a version", COUNTS, sink) for item in row]
    if first is None or last is None:
        return None
    if first > last:
        message = f"the range from {first} to {last} has no version"
        sink.error(mobile_codes.RANGE_ORDER, message, node.span, help=f"write `[{last}, {first}]`")
        return None
    return ((first, last),)
