"""C++ types as nested lists, which programs for the reference's interpreter read and write.

A type is a list: a constructor with what it is applied to, or `base` and a spelling.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from opwright.cpp import c_types
from opwright.cpp.c_types import CType

PROGRAM = Path(__file__).with_name("reference_answers.py")
CONSTRUCTORS = {
    "const_ref": c_types.const_ref,
    "mut_ref": c_types.mut_ref,
    "optional": c_types.optional,
    "list": c_types.c10_list,
    "array_ref": c_types.array_ref,
    "vector": c_types.vector,
    "vectorized": c_types.vectorized,
}


def read_type(spelt: list[Any]) -> CType:
    """The C++ type that the reference's program spelt."""
    constructor, *rest = spelt
    if constructor == "base":
        return c_types.base(rest[0])
    if constructor == "tuple":
        return c_types.tuple_of(tuple(map(read_type, rest)))
    if constructor == "array":
        return c_types.array(read_type(rest[0]), rest[1])
    return CONSTRUCTORS[constructor](read_type(rest[0]))


def spell_type(ctype: CType) -> list[Any]:
    """A C++ type as the reference's program reads it."""
    if ctype.kind == "base":
        return ["base", ctype.text]
    size = [int(ctype.text.rpartition(",")[2][:-1])] if ctype.kind == "array" else []
    return [ctype.kind, *map(spell_type, ctype.elems), *size]


def answers(kind: str, questions: Iterable[object]) -> list[Any]:
    """What the reference answers to questions about `types` or `translations`."""
    lines = "\n".join(map(json.dumps, questions))
    done = subprocess.run([sys.executable, PROGRAM, kind], input=lines, check=True, capture_output=True, text=True)
    return list(map(json.loads, done.stdout.splitlines()))
