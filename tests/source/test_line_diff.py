"""Differences of lines, beside those of `difflib`, and in limited time for long texts."""

from __future__ import annotations

import difflib
import time
from random import Random

import pytest

from opwright.source.line_diff import LineMatcher, unified_lines


def _changed(random: Random, count: int, kinds: int) -> tuple[list[str], list[str]]:
    """Lines of so many kinds, and the same with some lines gone and some new ones."""
    old = [f"{random.randrange(kinds)}\n" for _ in range(count)]
    new = list(old)
    for _ in range(random.choice((0, 1, 20, count // 2))):
        at = random.randrange(len(new) + 1)
        new[at : at + random.randrange(2)] = [f"{random.randrange(kinds)}\n"] * random.randrange(2)
    return old, new


@pytest.mark.parametrize("count", [0, 1, 5, 40, 150])
def test_short_texts_differ_as_in_difflib(count: int) -> None:
    """The difference of short texts is the text that Python's module prints."""
    random = Random(count)
    for kinds in (2, 50, 10**6) * 5:
        old, new = _changed(random, count, kinds)
        assert [*unified_lines(old, new, ("a", "b"))] == [*difflib.unified_diff(old, new, "a", "b")]


@pytest.mark.parametrize("count", [40, 700, 3000])
def test_operations_make_the_new_text(count: int) -> None:
    """What is equal is equal, and with what is replaced it is the new text."""
    random = Random(count)
    for kinds in (2, 50, 10**6) * 3:
        old, new = _changed(random, count, kinds)
        place, made = 0, list[str]()
        for kind, first, last, begin, end in LineMatcher(old, new).get_opcodes():
            assert first == place
            assert kind != "equal" or old[first:last] == new[begin:end]
            place, made = last, made + new[begin:end]
        assert (place, made) == (len(old), new)


@pytest.mark.alone
@pytest.mark.parametrize("is_unique", [True, False])
def test_long_texts_take_seconds(is_unique: bool) -> None:
    """20,000 lines, of which each other one changes, are compared in seconds: no step takes the square of them."""
    old = [f"line {number if is_unique else number % 4}\n" for number in range(20_000)]
    new = [line if number % 2 else f"new {line}" for number, line in enumerate(old)]
    start = time.process_time()
    lines = list(unified_lines(old, new))
    assert time.process_time() - start < 5
    kept = sum(line.startswith(" ") for line in lines)
    assert kept == (10_000 if is_unique else 1)
