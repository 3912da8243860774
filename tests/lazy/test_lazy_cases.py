"""Files with lazy tensors have the reference's bytes, or are refused where it refuses them, with places of mistakes."""

from __future__ import annotations

from opwright.plugins.code_pages import code_names
from tests.backend.case_tests import *  # noqa: F403
from tests.lazy.lazy_cases import load_cases

CASES = load_cases()

#: What no case can show: only other operators than PyTorch's have it, or only runs that are not tolerant report it.
ELSEWHERE = {"E1602", "E1604", "E1616", "E1617"}


def test_every_code_has_a_case() -> None:
    """Each code of lazy tensors is marked in a case, or tested elsewhere."""
    registered = {code for code in code_names() if code[1:3] == "16"}
    marked = {code for case in CASES for *_, code in case.faults}
    assert registered - marked == ELSEWHERE
