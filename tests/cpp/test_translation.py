from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from opwright.cpp import c_types
from opwright.cpp.binding import Expression, WantedBinding
from opwright.cpp.c_types import CType
from opwright.cpp.translation import Untranslatable, translate

PROGRAM = Path(__file__).with_name("reference_translations.py")

CONSTRUCTORS = {
    "ConstRef": c_types.const_ref,
    "MutRef": c_types.mut_ref,
    "Optional": c_types.optional,
    "List": c_types.c10_list,
    "ArrayRef": c_types.array_ref,
    "Vector": c_types.vector,
    "Vectorized": c_types.vectorized,
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


@pytest.mark.thorough
def test_every_problem_of_a_full_run_has_the_reference_s_solution(tmp_path: Path, reference_inputs: Path) -> None:
    """All translations that the reference makes for its headers and sources come out the same, word for word."""
    command = [sys.executable, str(PROGRAM), str(reference_inputs), str(tmp_path)]
    lines = subprocess.run(command, check=True, capture_output=True, text=True, cwd=tmp_path).stdout.splitlines()
    assert len(lines) > 5000
    for line in lines:
        given, wanted, method, copies, solution = json.loads(line)
        sources = tuple(Expression(text, role, read_type(spelt)) for text, role, spelt in given)
        wants = tuple(WantedBinding(role, read_type(spelt)) for role, spelt in wanted)
        assert list(translate(sources, wants, method=method, copies=copies)) == solution, line


def test_what_no_rule_reaches_is_said_with_what_is_at_hand() -> None:
    """A wanted value without a way to it raises, naming the want and the values in scope."""
    with pytest.raises(Untranslatable, match=r"at::Device device.*bool flag"):
        translate((Expression("flag", "flag", c_types.BOOL),), (WantedBinding("device", c_types.DEVICE),))


def test_a_reference_binds_to_a_value_but_not_the_other_way() -> None:
    """`const T &` is made of `T &` and `T`; a value is never made of a reference."""
    reference = c_types.const_ref(c_types.TENSOR)
    value = Expression("x", "x", c_types.TENSOR)
    assert translate((value,), (WantedBinding("x", reference),)) == ("x",)
    with pytest.raises(Untranslatable):
        translate((Expression("x", "x", reference),), (WantedBinding("x", c_types.TENSOR),))
