"""Program for the reference's interpreter: its solutions of translations, which it reads as JSON lines.

usage: reference_pairs.py < problems.jsonl > solutions.jsonl

A type is a list: a constructor and its element, or `base` and a spelling. A problem is a list: the values in scope
(text, role, type), those that are wanted (role, type), whether they are wanted in a method, and whether copies are
allowed. The solution is a list of texts, or null if there is none.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from torchgen.api import types
from torchgen.api.translate import UnsatError, translate

BASES = {str(value): value for value in vars(types).values() if isinstance(value, types.BaseCppType)}
CONSTRUCTORS = {
    "const_ref": types.ConstRefCType,
    "mut_ref": types.MutRefCType,
    "optional": types.OptionalCType,
    "list": types.ListCType,
    "array_ref": types.ArrayRefCType,
    "vector": types.VectorCType,
}


def read_type(spelt: list[Any]) -> types.CType:
    """The reference's type."""
    constructor, inside = spelt
    return types.BaseCType(BASES[inside]) if constructor == "base" else CONSTRUCTORS[constructor](read_type(inside))


def read_value(role: str, spelt: list[Any]) -> types.NamedCType:
    """The reference's type with its role."""
    return types.NamedCType(types.SpecialArgName.__members__.get(role, role), read_type(spelt))


def solution(problem: list[Any]) -> list[str] | None:
    """What the reference translates a problem to."""
    given, wanted, method, copies = problem
    scope = [types.Expr(text, read_value(role, spelt)) for text, role, spelt in given]
    goals = [read_value(role, spelt) for role, spelt in wanted]
    try:
        expressions = translate(scope, goals, method=method, allow_expensive_conversions=copies)
    except UnsatError:
        return None
    return [expression.expr for expression in expressions]


if __name__ == "__main__":
    for line in sys.stdin:
        print(json.dumps(solution(json.loads(line))))
