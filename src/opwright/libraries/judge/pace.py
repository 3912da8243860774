"""How many calls of a candidate fit into the time that a check has: fewer of a slow one, and the same each time.

Times are those of processors, so that other work on the machine does not count, and they are rounded up to powers of
two. What is left out is at the end of a list whose order follows from the seed, so that a slightly other time changes
no call before it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median
from typing import Final

from opwright.libraries.judge.drawing import Case

#: Calls that take less seconds cost nothing.
_NOTHING: Final = 1 / 512
#: Calls with fewer elements say little of how the time grows with them.
_MANY_ELEMENTS: Final = 256
#: Seconds of a call that a slow candidate is not asked for.
_MOST: Final = 4.0
#: The elements of a usual large call.
_LARGE: Final = 1 << 17


class Pace:
    """What calls cost, by the text that says their sizes."""

    def __init__(self) -> None:
        self._seconds: Final[dict[str, float]] = {}
        self._elements: Final[dict[str, int]] = {}

    def learn(self, case: Case, seconds: float) -> None:
        """Take the seconds of a call. The quickest one counts: the first one may compile something."""
        self._seconds[case.text] = min(seconds, self._seconds.get(case.text, seconds))
        self._elements[case.text] = case.elements

    def cost(self, case: Case) -> float:
        """The seconds of a call, rounded up; of one that was not made, about what it takes."""
        if case.text in self._seconds:
            return _rounded(self._seconds[case.text])
        return self._least + self._rate * case.elements

    @property
    def _least(self) -> float:
        return min(map(_rounded, self._seconds.values()), default=0.0)

    @property
    def _rate(self) -> float:
        """Seconds for each element."""
        costs = [(_rounded(seconds) - self._least, self._elements[text]) for text, seconds in self._seconds.items()]
        rates = [cost / elements for cost, elements in costs if elements >= _MANY_ELEMENTS]
        return median(rates) if rates else 0.0

    @property
    def is_slow_for_large(self) -> bool:
        """Whether a large call would take too long."""
        return self._rate * _LARGE > _MOST

    def is_too_slow(self, case: Case) -> bool:
        """Whether a call that was not made would take too long."""
        return case.text not in self._seconds and self.cost(case) > _MOST

    def fitting(self, cases: Sequence[Case], seconds: float, least: int) -> int:
        """How many calls, from the first one on, take no more than some seconds together; some are made anyway."""
        for count, case in enumerate(cases):
            seconds -= self.cost(case)
            if seconds < 0 and count >= least:
                return count
        return len(cases)

    def times(self, case: Case, seconds: float, most: int, least: int) -> int:
        """How often a call fits into some seconds, between two numbers."""
        cost = self.cost(case)
        return most if cost * most <= seconds else max(least, int(seconds / cost))


def _rounded(seconds: float) -> float:
    return 0.0 if seconds < _NOTHING else float(2.0 ** math.ceil(math.log2(seconds)))
