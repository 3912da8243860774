"""The codes of mistakes in bytecode files: x172x and x173x."""

from __future__ import annotations

from typing import Final

from opwright.source.codes import Code, register


def _code(number: int, title: str, explanation: str, letter: str = "E") -> str:
    return register(Code(f"{letter}17{number:02}", title, explanation))


UNKNOWN_FIELD: Final = _code(
    20,
    "unknown field in a bytecode file",
    """
A bytecode file has the fields `upgraders` and `operators`. An upgrader has `instructions`, `constants`, `types`,
`operators` and `register_size`; an operator has `upgraders` and `ranges`.

    upgraders:
      turn_0_3:
        instruction: [[RET, 0, 0]]
        ^^^^^^^^^^^ did you mean `instructions`?
""",
)
MISSING_FIELD: Final = _code(
    21,
    "missing field in a bytecode file",
    """
Every upgrader has all five fields, and every operator both of its two. PyTorch's own program leaves the place of a
missing table empty, which does not compile.

    upgraders:
      turn_0_3:
      ^^^^^^^^ `register_size` is missing
        instructions: [[RET, 0, 0]]
        constants: []
        types: []
        operators: []

Lists may be empty, but are written.
""",
)
UNKNOWN_OP_CODE: Final = _code(
    22,
    "unknown op code",
    """
An instruction begins with the name of an op code of TorchScript's bytecode. Generated C++ with another name does not
compile.

    instructions: [[STOREN, 1, 1], [RETURN, 0, 0]]
                                    ^^^^^^ did you mean `RET`?
""",
)
INSTRUCTION_FORM: Final = _code(
    23,
    "row of the wrong length in a bytecode file",
    """
An instruction is a list of its op code and two operands. A called operator is a list of its name, its overload and the
number of its arguments, and a range a list of the first and the last version.

    instructions: [[RET, 0]]
                   ^^^^^^^^ 2 items, not 3

An op code without operands has two zeros, and an operator without overload has an empty text.
""",
)
OUT_OF_RANGE: Final = _code(
    24,
    "operand that refers to nothing",
    """
Operands of instructions are indices of the other tables, registers from 1 to `register_size`, or jumps to other
instructions. PyTorch does not check them, and the model fails or reads other memory when it runs.

    instructions: [[STOREN, 1, 1], [OP, 1, 0], [RET, 0, 0]]
                                        ^ there is one operator, number 0
    operators: [["aten::neg", "", 1]]

The same holds for numbers that C++ cannot hold: the second operand has 16 bits, the first one 31.
""",
)
CONSTANT_TYPE: Final = _code(
    25,
    "constant of a type that upgraders cannot have",
    """
Constants of upgraders are texts, booleans, integers, or nothing (`null`).

    constants: [trunc, 0.5]
                       ^^^ a number

Rewrite the upgrader so that it computes the value from such constants.
""",
)
UNQUOTABLE_TEXT: Final = _code(
    26,
    "text that ends a C++ literal",
    """
Texts of a bytecode file go into C++ literals as they are. A quote, a backslash or a line break would end the literal or
change its meaning.

    constants: ['a "good" one']
                ^^^^^^^^^^^^^^ it has a quote

Leave such characters out.
""",
)
RANGES_DIFFER: Final = _code(
    27,
    "upgraders and ranges of an operator differ in number",
    """
Each upgrader of an operator has one range of versions, in the same order.

    operators:
      aten::turn:
        upgraders: [turn_0_3, turn_4_5]
        ranges: [[0, 3]]
                ^^^^^^^^ 1 range for 2 upgraders
""",
)
UNKNOWN_UPGRADER: Final = _code(
    28,
    "operator without the bytecode of its upgrader",
    """
An operator names an upgrader that the file does not have, or one that PyTorch leaves out. The generated table has the
position of each upgrader, so all of them must be there.

    operators:
      aten::turn:
        upgraders: [turn_0_4]
                    ^^^^^^^^ did you mean `turn_0_3`?
        ranges: [[0, 3]]
""",
)
RANGE_ORDER: Final = _code(
    29,
    "range that ends before it begins",
    """
A range of versions is the first and the last version of models for which the upgrader runs, both from 0 on. No model
has a version in a range that ends before it begins.

    ranges: [[3, 0]]
             ^^^^^^ write `[0, 3]`
""",
)
SEVERAL_UPGRADERS: Final = _code(
    30,
    "operator with several upgraders",
    """
PyTorch's own program writes several upgraders of one operator without commas between them, which does not compile.
Opwright writes the commas.

    operators:
      aten::turn:
        upgraders: [turn_0_3, turn_4_5]
                    ^^^^^^^^^^^^^^^^^^ PyTorch's program writes no comma between them
        ranges: [[0, 3], [4, 5]]

There is nothing to do.
""",
    "W",
)
NO_TORCH: Final = _code(
    31,
    "no PyTorch to take bytecode from",
    """
Without a bytecode file, the bytecode comes from a PyTorch that Python can import. There is none, or it fails.

    python -m opwright.torchgen.gen_mobile_upgraders
    ^^^^^^ this Python cannot import torch

Run the program with a Python that has PyTorch, or name a file with `--bytecode FILE`. Such a file is written by
`--dump-bytecode FILE` where there is a PyTorch.
""",
)
