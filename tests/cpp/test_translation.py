from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import pytest

from opwright.cpp import c_types
from opwright.cpp.binding import POSSIBLY_REDUNDANT_MEMORY_FORMAT, Expression, WantedBinding
from opwright.cpp.translation import Untranslatable, translate
from tests.cpp.spelt_types import answers, read_type, spell_type

PROGRAM = Path(__file__).with_name("reference_translations.py")


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


class Problem(NamedTuple):
    """Wanted values, and the values in scope."""

    given: tuple[Expression, ...]
    wanted: tuple[WantedBinding, ...]
    method: bool = False
    copies: bool = False

    def spelt(self) -> list[object]:
        """The problem as the reference's program reads it."""
        given = [[text, role, spell_type(ctype)] for text, role, ctype in self.given]
        wanted = [[role, spell_type(ctype)] for role, ctype in self.wanted]
        return [given, wanted, self.method, self.copies]

    def solution(self) -> list[str] | None:
        """Opwright's translation; None if there is none."""
        try:
            return list(translate(self.given, self.wanted, method=self.method, copies=self.copies))
        except Untranslatable:
            return None


#: Types of which translations make others, and those that they make.
BASES = (
    *(c_types.TENSOR, c_types.SCALAR, c_types.LONG, c_types.SYMINT, c_types.DOUBLE, c_types.MEMORY_FORMAT),
    *(c_types.INT_ARRAY_REF, c_types.SYMINT_ARRAY_REF, c_types.OPTIONAL_INT_ARRAY_REF),
    *(c_types.OPTIONAL_SYMINT_ARRAY_REF, c_types.OPTIONAL_SCALAR_REF, c_types.OPTIONAL_TENSOR_REF),
    *(c_types.IOPT_TENSOR_LIST_REF, c_types.SCALAR_T, c_types.OPMATH_T, c_types.TENSOR_OPTIONS),
)
INNER = (c_types.TENSOR, c_types.SCALAR, c_types.LONG, c_types.SYMINT, c_types.MEMORY_FORMAT)
TYPES = (
    *BASES,
    *(
        wrap(inner)
        for inner in INNER
        for wrap in (c_types.optional, c_types.const_ref, c_types.mut_ref, c_types.vector)
    ),
    *(wrap(c_types.optional(inner)) for inner in INNER for wrap in (c_types.const_ref, c_types.mut_ref)),
    *(c_types.array_ref(c_types.LONG), c_types.optional(c_types.vector(c_types.LONG))),
    c_types.const_ref(c_types.c10_list(c_types.optional(c_types.TENSOR))),
)

#: What tensor options consist of, the options, an out tensor and the two memory formats: they are found by their roles.
PARTS = (
    Expression("t", "dtype", c_types.optional(c_types.SCALAR_TYPE)),
    Expression("l", "layout", c_types.optional(c_types.LAYOUT)),
    Expression("d", "device", c_types.optional(c_types.DEVICE)),
    Expression("p", "pin_memory", c_types.optional(c_types.BOOL)),
)
VALUES_WITH_ROLES = (
    *PARTS,
    Expression("o", "options", c_types.TENSOR_OPTIONS),
    Expression("out", "out", c_types.const_ref(c_types.TENSOR)),
    Expression("m", "memory_format", c_types.optional(c_types.MEMORY_FORMAT)),
    Expression("r", POSSIBLY_REDUNDANT_MEMORY_FORMAT, c_types.optional(c_types.MEMORY_FORMAT)),
)


def problems() -> Iterator[Problem]:
    """Every pair of types; every value with a role from some of the others; a memory format beside the options."""
    for given in TYPES:
        for wanted in TYPES:
            for copies in (False, True):
                yield Problem((Expression("x", "a", given),), (WantedBinding("a", wanted),), copies=copies)
    for value in VALUES_WITH_ROLES:
        others = [other for other in VALUES_WITH_ROLES if other is not value]
        for count in range(len(others) + 1):
            for scope in combinations(others, count):
                yield Problem(scope, (WantedBinding(value.role, value.type),))
    without_format = tuple([value for value in VALUES_WITH_ROLES[4:] if value.role != "memory_format"])
    wanted_values = [WantedBinding(value.role, value.type) for value in VALUES_WITH_ROLES]
    for wants in combinations(wanted_values, 2):
        yield Problem(VALUES_WITH_ROLES[4:], wants)
        yield Problem(without_format, wants)
    # A function that takes the options by reference needs no check of the memory format.
    by_reference = WantedBinding("options", c_types.const_ref(c_types.TENSOR_OPTIONS))
    for want in wanted_values:
        yield Problem(without_format, (by_reference, want))
    for method in (False, True):
        for reference in (c_types.const_ref, c_types.mut_ref):
            yield Problem((), (WantedBinding("self", reference(c_types.TENSOR)),), method)


def test_each_wanted_value_has_the_reference_s_expression() -> None:
    """Of each type made from each other, and of each option from the others, the reference makes the same expression.

    Where the reference has none, there is none.
    """
    asked = list(problems())
    solutions = answers("translations", [problem.spelt() for problem in asked])
    different = [
        f"{problem.spelt()}: {answer}, not {problem.solution()}"
        for problem, answer in zip(asked, solutions, strict=True)
        if problem.solution() != answer
    ]
    assert different == []
    assert sum(answer is not None for answer in solutions) > 500


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
