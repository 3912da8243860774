"""The op codes of TorchScript's bytecode, with what their operands are.

A letter stands for each operand: an index of a called operator (O), a register (R), a constant (C) or a type (T), a
jump from the instruction (P), a number (I). Operands without a letter here refer to what upgraders do not have.
"""

from __future__ import annotations

from typing import Final

__all__ = ["OP_CODES"]

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
