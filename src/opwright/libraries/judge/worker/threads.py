"""Calls in threads."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Final


class Outcomes:
    """What calls give, each in a thread of its own."""

    def __init__(self, *calls: Callable[[], Any]) -> None:
        self._outcomes: Final[list[Any]] = [None] * len(calls)
        self.threads: Final = [
            threading.Thread(target=self._work, args=(place, call)) for place, call in enumerate(calls)
        ]

    def _work(self, place: int, call: Callable[[], Any]) -> None:
        try:
            self._outcomes[place] = True, call()
        except BaseException as error:
            self._outcomes[place] = False, error

    def results(self) -> list[Any]:
        """The results, once all threads end. Raises what a call raised."""
        for thread in self.threads:
            thread.join()
        for is_result, error in self._outcomes:
            if not is_result:
                raise error
        return [result for _, result in self._outcomes]


def in_thread(call: Callable[[], Any]) -> Any:  # noqa: ANN401
    """What a call gives in another thread."""
    outcomes = Outcomes(call)
    outcomes.threads[0].start()
    return outcomes.results()[0]
