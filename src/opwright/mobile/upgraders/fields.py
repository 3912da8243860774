"""Fields of bytecode files with their JSON Schema, the op codes, and what the generated table leaves out.

A letter stands for each operand: an index of a called operator (O), a register (R), a constant (C) or a type (T), a
jump from the instruction (P), a number (I). Operands without a letter here refer to what upgraders do not have.
"""

from __future__ import annotations

from typing import Final

from opwright.dialects.field import TEXT, Field, JsonSchema, choice, dialect_schema, list_of_schema, mapping_schema
from opwright.mobile.operator_names import NOT_UPGRADED

_ROWS: Final = {
    "O": "OP",
    "OI": "OPN",
    "R": "LOAD MOVE STORE DROPR",
    "RI": "STOREN",
    "C": "LOADC",
    "CI": "INTERFACE_CALL",
    "P": "JF JMP",
    "PI": "LOOP",
    "T": "GUARD FAIL_GUARD CREATE_OBJECT",
    "TI": "TYPECHECK NAMED_TUPLE_CONSTRUCT LIST_CONSTRUCT DICT_CONSTRUCT ISINSTANCE",
    "I": "LIST_UNPACK TUPLE_CONSTRUCT FORMAT WARN",
    "II": "TUPLE_SLICE",
    "": """DROP RET WAIT CALL PROFILE_OP TAIL_CALL GET_ATTR SET_ATTR TUPLE_INDEX RAISE_EXCEPTION DICT_INDEX
    UNCHECKED_CAST __IS__ UN_INITIALIZED __ISNOT__ DEVICE DTYPE DIM __NOT__ TO_LIST NUM_TO_TENSOR IS_CUDA FORK ENTER
    EXIT AWAITABLE""",
}

#: Op code -> the letters of its operands.
OP_CODES: Final = {code: letters for letters, codes in _ROWS.items() for code in codes.split()}


#: The upgraders that take no place in the table. PyTorch keeps `full_names_0_4`, although no operator refers to it.
LEFT_OUT_UPGRADERS: Final = frozenset(("full_0_4", "full_out_0_4"))


def is_left_out(operator: str) -> bool:
    """Whether the table has no upgraders for an operator, named with its namespace.

    >>> is_left_out("aten::full.out"), is_left_out("aten::gelu")
    (True, False)
    """
    namespace, _, name = operator.partition("::")
    return namespace == "aten" and name in NOT_UPGRADED.in_any_release


#: The first operand of an instruction; a jump may go back.
FIRST_OPERANDS: Final = range(-(1 << 31), 1 << 31)
SECOND_OPERANDS: Final = range(1 << 16)
#: Versions, and numbers of registers and of arguments.
COUNTS: Final = range(1 << 31)


def _number(numbers: range) -> JsonSchema:
    return {"type": "integer", "minimum": numbers[0], "maximum": numbers[-1]}


def _row(*items: JsonSchema) -> JsonSchema:
    return {"type": "array", "prefixItems": list(items), "minItems": len(items), "maxItems": len(items)}


def _required_field(name: str, values: str, schema: JsonSchema, help: str) -> Field:
    return Field(name, values, schema, help, is_required=True)


#: The fields of an upgrader.
UPGRADER_FIELDS: Final = (
    _required_field(
        "instructions",
        "list of `[op code, number, number]`",
        list_of_schema(_row(choice(*OP_CODES), _number(FIRST_OPERANDS), _number(SECOND_OPERANDS))),
        "The code. An operand is an index of `operators`, `constants` or `types`, a register from 1 on, or a jump, as "
        "the op code says.",
    ),
    _required_field(
        "constants",
        "list",
        list_of_schema({"type": ["string", "boolean", "integer", "null"]}),
        "The values that `LOADC` loads: texts, booleans, integers, null.",
    ),
    _required_field("types", "list of texts", list_of_schema(TEXT), "The types that `ISINSTANCE` and others test."),
    _required_field(
        "operators",
        "list of `[name, overload, number]`",
        list_of_schema(_row(TEXT, TEXT, _number(COUNTS))),
        "The operators that `OP` calls, with the number of arguments.",
    ),
    _required_field("register_size", "integer", _number(COUNTS), "The number of registers."),
)
#: The fields of an operator.
OPERATOR_FIELDS: Final = (
    _required_field("upgraders", "list of names", list_of_schema(TEXT), "The upgraders of the operator."),
    _required_field(
        "ranges",
        "list of `[first, last]`",
        list_of_schema(_row(_number(COUNTS), _number(COUNTS))),
        "The versions of models for which each upgrader runs.",
    ),
)
FILE_FIELDS: Final = (
    _required_field(
        "upgraders",
        "mapping",
        {"type": "object", "additionalProperties": mapping_schema(UPGRADER_FIELDS)},
        "Upgraders by name.",
    ),
    _required_field(
        "operators",
        "mapping",
        {"type": "object", "additionalProperties": mapping_schema(OPERATOR_FIELDS)},
        "Operators by name, with namespace and overload.",
    ),
)


def json_schema() -> dict[str, object]:
    """Schema: upgraders, and the operators that need them. Opwright checks what operands and names refer to."""
    return dialect_schema("Bytecode of upgraders for Opwright", mapping_schema(FILE_FIELDS))
