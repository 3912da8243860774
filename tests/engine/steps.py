"""How many steps code takes: the work that it is, whatever else the machine does."""

from __future__ import annotations

import sys
from types import FrameType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed import TraceFunction

__all__ = ["Steps"]


class Steps:
    """Counts the lines that are executed between `start` and `stop`, and the items of new containers in their calls.

    To copy a container is one step of the interpreter, whatever its size, so its items count too.
    """

    def __init__(self) -> None:
        self.count = 0
        self._tracer: TraceFunction | None = None

    def start(self) -> None:
        """Count from now on."""
        seen: dict[int, object] = {}

        def count(frame: FrameType, event: str, argument: object) -> TraceFunction:
            self.count += 1
            if event == "call":
                for value in frame.f_locals.values():
                    if isinstance(value, (set, frozenset, list, dict)) and id(value) not in seen:
                        seen[id(value)] = value
                        self.count += len(value)
            return count

        self._tracer = sys.gettrace()
        sys.settrace(count)

    def stop(self) -> None:
        """Count no longer."""
        sys.settrace(self._tracer)
