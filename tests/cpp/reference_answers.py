"""Program for the reference's interpreter: its texts of types, or its solutions of translations, as JSON lines.

usage: reference_answers.py types < types.jsonl > texts.jsonl
       reference_answers.py translations < problems.jsonl > solutions.jsonl

A type is a list, as `spelt_types.py` says. Its texts are those of the type, of the type without the outermost
reference, and of the type without any reference.

A problem is a list: the values in scope
(text, role, type), those that are wanted (role, type), whether they are wanted in a method, and whether copies are
allowed. The solution is a list of texts, or null if there is none.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
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
    "vectorized": types.VectorizedCType,
}


def read_type(spelt: list[Any]) -> types.CType:
    """The reference's type."""
    constructor, *inside = spelt
    if constructor == "base":
        return types.BaseCType(BASES[inside[0]])
    if constructor == "tuple":
        return types.TupleCType(list(map(read_type, inside)))
    if constructor == "array":
        return types.ArrayCType(read_type(inside[0]), inside[1])
    return CONSTRUCTORS[constructor](read_type(inside[0]))


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


def texts(spelt: list[Any]) -> list[str]:
    """What the reference calls a type."""
    type = read_type(spelt)
    return [type.cpp_type(), type.cpp_type(strip_ref=True), type.remove_const_ref().cpp_type()]


ANSWERS: dict[str, Callable[[list[Any]], list[str] | None]] = {"types": texts, "translations": solution}

if __name__ == "__main__":
    for line in sys.stdin:
        print(json.dumps(ANSWERS[sys.argv[1]](json.loads(line))))
